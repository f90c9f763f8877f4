"""The student: symbols to durations, pitch and the masks of the vocoder.

Three networks, run one after the other (see :mod:`common.voice.speak` for the same walk
at inference):

* ``Encoder`` at symbol rate: what is said becomes hidden vectors and durations.
* ``Prosody`` at frame rate over the whole sentence: pitch and voicing.
* ``Acoustic`` and ``Masks`` at frame rate, in chunks with bounded context: the mel
  spectrum, then the two positive masks that shape a harmonic source and noise
  (:mod:`distill.student.vocoder`).

A frame is ``HOP`` samples (12.5 ms).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from common.text.symbols import DIALECTS, SPEAKER_SLOTS, TABLE_SIZE, TONE_INPUTS
from distill.student.layers import Stack, context_of

HOP = 300
"""Samples per frame at 24 kHz."""
SLICE = 150
"""Samples between the vocoder's windows: two slices to a frame."""
FFT = 600
BINS = FFT // 2 + 1
MASK = HOP // SLICE * BINS
"""Numbers in one mask of one frame: a row of bins for each slice."""
MELS = 80
POSITIONS = 4
"""Where a frame lies in its symbol: from its start, to its end, both in tenths of a
second, their ratio, and the symbol's length in tenths of a second."""
PITCH_INPUTS = 2
"""Pitch in octaves around 200 Hz, and voicing."""
PITCH_REFERENCE_HZ = 200.0
DROPOUT = 0.04
"""Of all that learns from labels. An hour or two of speech is soon known by heart; the
masks have enough to learn from it and need none."""


@dataclass(frozen=True)
class Shape:
    """The widths and depths of a student.

    Attributes:
        width: Channels of encoder and decoder.
        encoder: Blocks of the encoder.
        prosody: Blocks of the pitch network.
        prosody_width: Its channels.
        decoder: Blocks from hidden vectors to mel.
        vocoder: Blocks from mel to masks.
        vocoder_width: Their channels.
    """

    width: int = 192
    encoder: int = 6
    prosody: int = 4
    prosody_width: int = 128
    decoder: int = 6
    vocoder: int = 6
    vocoder_width: int = 224

    @property
    def context(self) -> int:
        """Frames to each side that a chunk of the decoder needs."""
        return context_of(self.decoder) + context_of(self.vocoder)


class Encoder(nn.Module):
    """What is said: symbols, contours, speaker and dialect to hidden vectors."""

    def __init__(self, shape: Shape) -> None:
        """Build the encoder."""
        super().__init__()
        self.symbols = nn.Embedding(TABLE_SIZE, shape.width)
        self.tones = nn.Linear(TONE_INPUTS, shape.width)
        self.speakers = nn.Embedding(SPEAKER_SLOTS, shape.width)
        self.dialects = nn.Embedding(len(DIALECTS), shape.width)
        nn.init.zeros_(self.dialects.weight)
        self.stack = Stack(shape.width, shape.encoder, dropout=DROPOUT)
        self.norm = nn.LayerNorm(shape.width)
        self.duration = nn.Linear(shape.width, 1)

    def forward(
        self,
        symbols: Tensor,
        tones: Tensor,
        speaker: Tensor,
        dialect: Tensor,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Encode a sentence.

        Args:
            symbols: ``[batch, symbols]`` ids, int64.
            tones: ``[batch, symbols, 5]`` contours, see ``tone_inputs``.
            speaker: ``[batch]`` speaker slots, int64.
            dialect: ``[batch]`` indices into ``DIALECTS``, int64.
            mask: ``[batch, symbols, 1]``, 0 on padding.

        Returns:
            Hidden vectors ``[batch, symbols, width]`` and log durations in frames
            ``[batch, symbols]`` (natural logarithm of frames + 1).
        """
        steps = self.symbols(symbols) + self.tones(tones)
        steps = steps + (self.speakers(speaker) + self.dialects(dialect)).unsqueeze(1)
        hidden = self.norm(self.stack(steps, mask))
        return hidden, self.duration(hidden).squeeze(-1)


class Prosody(nn.Module):
    """How it is said: pitch and voicing of every frame."""

    def __init__(self, shape: Shape) -> None:
        """Build the pitch network."""
        super().__init__()
        self.inputs = nn.Linear(shape.width + POSITIONS, shape.prosody_width)
        self.stack = Stack(shape.prosody_width, shape.prosody, dropout=DROPOUT)
        self.norm = nn.LayerNorm(shape.prosody_width)
        self.head = nn.Linear(shape.prosody_width, PITCH_INPUTS)

    def forward(
        self, hidden: Tensor, positions: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Predict pitch.

        Args:
            hidden: ``[batch, frames, width]``, encoder vectors repeated by duration.
            positions: ``[batch, frames, 4]``.
            mask: ``[batch, frames, 1]``, 0 on padding.

        Returns:
            Pitch in octaves around 200 Hz and voicing logits, each ``[batch, frames]``.
        """
        steps = self.inputs(torch.cat([hidden, positions], -1))
        pitch, voicing = self.head(self.norm(self.stack(steps, mask))).unbind(-1)
        return pitch, voicing


class Acoustic(nn.Module):
    """Hidden vectors and pitch to a log mel spectrum."""

    def __init__(self, shape: Shape) -> None:
        """Build the decoder's first half."""
        super().__init__()
        self.inputs = nn.Linear(shape.width + POSITIONS + PITCH_INPUTS, shape.width)
        self.stack = Stack(shape.width, shape.decoder, dropout=DROPOUT)
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, MELS)

    def forward(
        self,
        hidden: Tensor,
        positions: Tensor,
        pitch: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Predict the mel spectrum.

        Args:
            hidden: ``[batch, frames, width]``.
            positions: ``[batch, frames, 4]``.
            pitch: ``[batch, frames, 2]`` octaves (0 where unvoiced) and voicing.
            mask: ``[batch, frames, 1]``, 0 on padding.

        Returns:
            Natural logarithm of mel magnitudes, ``[batch, frames, 80]``.
        """
        steps = self.inputs(torch.cat([hidden, positions, pitch], -1))
        return self.head(self.norm(self.stack(steps, mask)))


class Masks(nn.Module):
    """Mel spectrum and pitch to the two masks of the vocoder."""

    def __init__(self, shape: Shape) -> None:
        """Build the decoder's second half."""
        super().__init__()
        self.inputs = nn.Linear(MELS + PITCH_INPUTS, shape.vocoder_width)
        self.stack = Stack(shape.vocoder_width, shape.vocoder)
        self.norm = nn.LayerNorm(shape.vocoder_width)
        self.head = nn.Linear(shape.vocoder_width, 2 * MASK)

    def forward(
        self, mel: Tensor, pitch: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Predict the masks.

        Args:
            mel: ``[batch, frames, 80]``.
            pitch: ``[batch, frames, 2]``.
            mask: ``[batch, frames, 1]``, 0 on padding.

        Returns:
            Masks of the harmonic source and of the noise, each
            ``[batch, frames, 602]``, positive.
        """
        steps = self.inputs(torch.cat([mel / 4, pitch], -1))
        out = self.head(self.norm(self.stack(steps, mask))).float()
        harmonic, noise = torch.exp(out.clamp(-12.0, 6.0)).split(MASK, -1)
        return harmonic, noise


class Student(nn.Module):
    """All networks of a voice."""

    def __init__(self, shape: Shape | None = None) -> None:
        """Build the networks.

        Args:
            shape: Widths and depths; the shop size by default.
        """
        super().__init__()
        self.shape = shape or Shape()
        self.encoder = Encoder(self.shape)
        self.prosody = Prosody(self.shape)
        self.acoustic = Acoustic(self.shape)
        self.masks = Masks(self.shape)


def positions_of(durations: Tensor) -> tuple[Tensor, Tensor]:
    """Say for every frame which symbol it belongs to and where it lies in it.

    Args:
        durations: Frames of each symbol of one sentence, ``[symbols]``, int64.

    Returns:
        Index of the symbol per frame ``[frames]`` and positions ``[frames, 4]``.
    """
    index = torch.repeat_interleave(torch.arange(len(durations)), durations)
    starts = torch.cumsum(durations, 0) - durations
    length = durations[index].float()
    passed = torch.arange(len(index)).float() - starts[index].float() + 0.5
    tenth = 8.0  # frames
    positions = torch.stack(
        [passed / tenth, (length - passed) / tenth, passed / length, length / tenth], -1
    )
    return index, positions
