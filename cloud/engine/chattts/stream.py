"""Sound from hidden states: whole, or in any pieces with the same samples.

A stream keeps what every layer saw last (about 0.4 MB), so nothing is computed twice
and no piece knows how the steps were cut. Its price is delay: a sample depends on 52
steps on each side (12 filters of 6 frames, 8 of 3 and the small ones around them make
104 frames), so the first sample leaves with the 53rd step. Until then
:meth:`VocoderStream.peek` says how it would sound if no more steps came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cloud.engine.chattts.assets import Assets
from cloud.engine.chattts.codes import Codes
from cloud.engine.chattts.decoder import FRAMES_PER_STEP, Decoder
from cloud.engine.chattts.frames import Memory, Pass
from cloud.engine.chattts.vocos import Vocos

Samples = NDArray[np.float32]
"""Sound, [samples], 24 kHz."""


class Piece(NamedTuple):
    """New steps of one stream.

    Attributes:
        stream: The stream.
        hidden: Its new hidden states, [steps, hidden]; there may be none.
        is_last: Whether no more will come.
        is_kept: Whether the stream goes on from here; else it stays as it was.
    """

    stream: VocoderStream
    hidden: Tensor
    is_last: bool = False
    is_kept: bool = True


class Vocoder:
    """Decoder and vocoder with their weights; streams hold what belongs to one sound.

    Attributes:
        hop: Samples of one mel frame; a step makes two frames.
    """

    def __init__(
        self,
        assets: Assets,
        *,
        device: torch.device | str = "cpu",
        from_codes: bool = False,
    ) -> None:
        """Prepare the weights.

        Args:
            assets: A checked asset folder.
            device: Where to compute.
            from_codes: Whether steps come as codes, [steps, codebooks], in place of
                hidden states.
        """
        self.hop = assets.shape.hop
        self._device = torch.device(device)
        shape, file = assets.shape, assets.dvae if from_codes else assets.decoder
        with torch.inference_mode():
            weights = {name: value.to(self._device) for name, value in file.items()}
            vocos = {
                name: value.to(self._device) for name, value in assets.vocos.items()
            }
            self._codes = Codes(weights) if from_codes else None
            self._decoder = Decoder(
                weights, shape.dvae_decoder if from_codes else shape.decoder
            )
            self._vocos = Vocos(vocos, shape)
        self._width = shape.codebooks if from_codes else shape.hidden

    def whole(self, hidden: Tensor) -> Samples:
        """Speak all steps at once.

        Args:
            hidden: [steps, hidden], or codes.

        Returns:
            ``(2 * steps - 1) * 256`` samples.
        """
        return self.speak([Piece(self.stream(), hidden, is_last=True)])[0]

    def stream(self) -> VocoderStream:
        """Begin a sound whose steps come one after another."""
        return VocoderStream(self)

    def nothing(self) -> Tensor:
        """No steps, in the form in which steps come."""
        return torch.empty(0, self._width, device=self._device)

    def speak(self, pieces: Sequence[Piece]) -> list[Samples]:
        """Speak the new steps of several streams in one call.

        Args:
            pieces: At most one of each stream.

        Returns:
            For each piece the samples that it completes; there may be none.
        """
        if not pieces:
            return []
        run = Pass(
            [FRAMES_PER_STEP * len(piece.hidden) for piece in pieces],
            [piece.stream.memory for piece in pieces],
            [piece.is_last for piece in pieces],
        )
        with torch.inference_mode():
            steps = torch.cat([piece.hidden.to(self._device) for piece in pieces])
            if self._codes is not None:
                steps = self._codes(steps)
            sound = self._vocos(self._decoder(steps, run), run).cpu()
        for piece, memory in zip(pieces, run.memories, strict=True):
            if piece.is_kept:
                piece.stream.memory = memory
        return [one.flatten().numpy() for one in sound.split(run.counts)]


class VocoderStream:
    """One sound on its way.

    Attributes:
        memory: What the layers keep of it.
    """

    def __init__(self, vocoder: Vocoder) -> None:
        """Begin; see :meth:`Vocoder.stream`."""
        self.memory: Memory = []
        self._vocoder = vocoder

    def push(self, hidden: Tensor) -> Samples:
        """Take more steps.

        Args:
            hidden: [steps, hidden], what follows the steps so far.

        Returns:
            The samples that depend on no further step and were not returned yet.
        """
        return self._vocoder.speak([Piece(self, hidden)])[0]

    def peek(self) -> Samples:
        """Say how the rest would sound if no more steps came.

        Returns:
            Samples after those that :meth:`push` returned. The further from their end,
            the nearer they are to what will follow.
        """
        last = Piece(self, self._vocoder.nothing(), is_last=True, is_kept=False)
        return self._vocoder.speak([last])[0]

    def finish(self) -> Samples:
        """End the sound.

        Returns:
            All samples not returned yet.
        """
        last = Piece(self, self._vocoder.nothing(), is_last=True)
        return self._vocoder.speak([last])[0]
