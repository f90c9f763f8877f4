"""What a teacher is: symbols in, sound out, and what it knows about its own timing.

A teacher is driven from our symbols, never from its own reader, else labels and sound
disagree; one that takes characters gets the words of our reading. What a teacher does
not tell, durations and pitch, the corpus finds out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from common.protocol.manifest import Teacher as Card
from common.text.symbols import Symbol

UNIT_SAMPLES = 600
"""Samples in one unit of a duration (25 ms)."""
PITCH_PER_UNIT = 2
"""Values of the pitch curve in one unit (80 a second)."""


@dataclass(frozen=True)
class Lesson:
    """One sentence as the teacher says it.

    Attributes:
        audio: ``[samples]`` at 24 kHz; may exceed [-1, 1] a little. Empty where the
            teacher only told how it would say the sentence.
        durations: ``[symbols]`` in units of :data:`UNIT_SAMPLES`, start and end marks
            included; together they are exactly the sound. None where the teacher
            cannot tell.
        pitch_hz: ``[units * 2]``; below 10 is unvoiced. None where it cannot tell.
    """

    audio: NDArray[np.float32]
    durations: NDArray[np.int64] | None = None
    pitch_hz: NDArray[np.float32] | None = None

    @property
    def samples(self) -> int:
        """Length that the durations add up to, or that the sound has."""
        if self.durations is None:
            return len(self.audio)
        return int(self.durations.sum()) * UNIT_SAMPLES


class Teacher(Protocol):
    """A voice to learn from; deterministic: the same sentence, the same samples."""

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        """Say one sentence.

        Args:
            symbols: The sentence with start and end marks.
            voice: One of the teacher's own voices.
            speed: 1 is the voice's own.
            text: What the symbols read, for a teacher that takes characters.

        Returns:
            The lesson.

        Raises:
            YaoheError: The voice is unknown, the sentence too long, or a character
                has no token.
        """


@runtime_checkable
class Teller(Teacher, Protocol):
    """A teacher that can tell how it would say a sentence without saying it.

    Timing and pitch are a small part of what speech costs, and what a student needs
    most examples of.
    """

    def tell(self, symbols: Sequence[Symbol], voice: str, speed: float = 1.0) -> Lesson:
        """Tell durations and pitch of one sentence.

        Args:
            symbols: The sentence with start and end marks.
            voice: One of the teacher's own voices.
            speed: 1 is the voice's own.

        Returns:
            The lesson, without sound.

        Raises:
            YaoheError: As :meth:`Teacher.speak`.
        """


@dataclass(frozen=True)
class Plug:
    """A teacher that is not loaded yet.

    Attributes:
        card: Who it is and what its licence says, as a pack's manifest repeats it.
        digests: SHA-256 of each file it speaks with: its model, its voices by name.
        size: Bytes that it needs to speak in one voice.
        fetch: Brings its files from the package indexes where they are missing; tells
            a person what it does.
        engage: Loads it; can be pickled, since workers load a teacher each.
    """

    card: Card
    digests: Mapping[str, str]
    size: Callable[[], int]
    fetch: Callable[[Callable[[str], object]], None]
    engage: Callable[[], Teacher]
