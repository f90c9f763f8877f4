"""Sound that begins after twelve steps, and is exact from where it can be.

The exact stream is 52 steps late. Until it has overtaken what was heard, sound comes
from previews: the sound as if no more steps came, without its last steps, which lack
too much of what follows. Each preview continues the one before it, and the exact stream
the last of them, by a short cross-fade. All that follows the fade is the exact sound.

When a preview is due depends on the number of steps alone and not on a clock, so the
same steps give the same samples. With the usual plan the previews stand at 12, 20 and
40 steps and the exact stream takes over at 90.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cloud.engine.chattts.stream import Piece, Samples, Vocoder


@dataclass(frozen=True)
class Plan:
    """When sound leaves.

    Attributes:
        first: Steps before the first sound.
        context: Steps at the end of a preview that are not heard.
        every: Steps from one piece of exact sound to the next.
        pace: Real-time factor at which playback never waits.
        fade: Samples of a cross-fade.
    """

    first: int = 12
    context: int = 8
    every: int = 24
    pace: float = 0.4
    fade: int = 256


PLAN = Plan()


class EarlyStream:
    """One sound on its way, early; :func:`speak` computes it."""

    def __init__(self, vocoder: Vocoder, plan: Plan = PLAN) -> None:
        """Begin.

        Args:
            vocoder: What speaks.
            plan: When sound leaves.
        """
        self._vocoder = vocoder
        self._stream = vocoder.stream()
        self._plan = plan
        self._waiting: list[Tensor] = []
        self._steps = 0
        self._due = plan.first
        self._is_ended = False
        self._hop = vocoder.hop
        self._exact = 0
        self._given = 0
        self._known = _nothing()
        self._tail = _nothing()

    @property
    def is_due(self) -> bool:
        """Whether :func:`speak` has something to compute for it."""
        return self._is_ended or self._steps >= self._due

    @property
    def is_preview(self) -> bool:
        """Whether what was heard last came from a preview."""
        return len(self._tail) > 0

    def add(self, hidden: Tensor) -> None:
        """Take more steps; cheap.

        Args:
            hidden: [steps, hidden].
        """
        self._waiting.append(hidden)
        self._steps += len(hidden)

    def end(self) -> None:
        """Say that no more steps come: the next piece of sound is the last."""
        self._is_ended = True

    def take(self) -> Piece:
        """The steps that wait, for the vocoder."""
        waiting, self._waiting = self._waiting, []
        hidden = torch.cat(waiting) if waiting else self._vocoder.nothing()
        return Piece(self._stream, hidden, is_last=self._is_ended)

    def preview(self) -> Piece | None:
        """What to ask the vocoder beside, if the exact sound is not there yet."""
        is_exact = self._given > 0 and not self.is_preview
        if self._is_ended or is_exact or len(self._known) >= self._plan.fade:
            return None
        return Piece(self._stream, self._vocoder.nothing(), is_last=True, is_kept=False)

    def learn(self, exact: Samples) -> None:
        """Take exact samples, what follows those so far."""
        already_heard = max(self._given - self._exact, 0)
        self._known = np.concatenate([self._known, exact[already_heard:]])
        self._exact += len(exact)

    def give(self, preview: Samples | None) -> Samples:
        """Choose what is heard next.

        Args:
            preview: The sound after the exact samples, if it was asked for.

        Returns:
            Samples that follow those given so far; none if there are too few steps.
        """
        if preview is None:
            heard, self._known = self._faded(self._known), _nothing()
            self._tail = _nothing()
            self._due = self._steps + self._plan.every
        else:
            already_heard = max(self._given - self._exact, 0)
            coming = np.concatenate([self._known, preview])[already_heard:]
            unheard = 2 * self._plan.context * self._hop
            count = max(len(coming) - unheard, 0)
            heard = self._faded(coming[:count])
            self._tail = coming[count : count + self._plan.fade]
            self._known = self._known[count:]
            given = (self._given + count) / (2 * self._hop)
            self._due = max(
                int(self._plan.first + given / self._plan.pace), self._steps + 1
            )
        self._given += len(heard)
        return heard

    def _faded(self, coming: Samples) -> Samples:
        """Samples that begin as the last preview went on."""
        count = min(len(self._tail), len(coming))
        share = np.linspace(0, 1, count + 2, dtype=np.float32)[1:-1]
        begin = self._tail[:count] * (1 - share) + coming[:count] * share
        return np.concatenate([begin, coming[count:]])


def speak(vocoder: Vocoder, streams: Sequence[EarlyStream]) -> list[Samples]:
    """Compute the next sound of some streams together.

    Args:
        vocoder: What the streams were begun with.
        streams: Streams that are due.

    Returns:
        For each stream the samples that follow those returned so far.
    """
    pieces = [stream.take() for stream in streams]
    for stream, exact in zip(streams, vocoder.speak(pieces), strict=True):
        stream.learn(exact)
    asked = [stream.preview() for stream in streams]
    previews = iter(vocoder.speak([piece for piece in asked if piece is not None]))
    return [
        stream.give(None if piece is None else next(previews))
        for stream, piece in zip(streams, asked, strict=True)
    ]


def _nothing() -> Samples:
    """No samples."""
    return np.zeros(0, np.float32)
