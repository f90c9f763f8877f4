"""What is measured: the teacher and the student, behind one small protocol."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from common.errors import YaoheError
from common.text import read
from common.voice.speak import Speaker
from distill.evaluate.keep import Made
from distill.teacher.base import Plug, Teacher

KEPT_FORMAT = 1
"""Raised where the same facts stand for another sound."""


@dataclass(frozen=True)
class Manner:
    """How a sentence is asked for.

    Attributes:
        dialect: Its dialect.
        speed: 1 is the voice's own.
        pitch: Shift in semitones.
    """

    dialect: str = "zh"
    speed: float = 1.0
    pitch: float = 0.0

    @property
    def label(self) -> str:
        """What a table calls it; empty for the plain one."""
        return " ".join(
            part
            for part, is_told in (
                (self.dialect, self.dialect != "zh"),
                (f"speed {self.speed:g}", self.speed != 1),
                (f"pitch {self.pitch:+g}", self.pitch != 0),
            )
            if is_told
        )


PLAIN = Manner()


class System(Protocol):
    """What is measured."""

    @property
    def name(self) -> str:
        """``teacher``, ``student`` or a peer's name."""

    @property
    def size(self) -> int:
        """Bytes of what it needs on disk to speak one voice."""

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        """Everything that decides a sound, as plain JSON.

        Args:
            text: The text.
            voice: The logical voice.
            manner: How.
        """

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        """Read and speak a text.

        Args:
            text: The text.
            voice: The logical voice.
            manner: How.

        Raises:
            YaoheError: The system cannot.
        """

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Read and speak a text in the plain manner, chunk by chunk, for the clock.

        Args:
            text: The text.
            voice: The logical voice.
        """

    def cpu_s(self) -> float:
        """Processor time that it has used so far, wherever it runs."""


class Taught:
    """A teacher as a system; it is loaded when it first has to speak."""

    def __init__(
        self,
        plug: Plug,
        voices: Mapping[str, str],
        name: str = "teacher",
        *,
        is_reader: bool = False,
    ) -> None:
        """Take a teacher.

        Args:
            plug: The teacher, not loaded yet.
            voices: Its own voice by logical voice.
            name: What tables call it.
            is_reader: Whether it takes characters, so that they decide its sound too.
        """
        self.name = name
        self._is_reader = is_reader
        self._plug = plug
        self._voices = voices
        self._teacher: Teacher | None = None

    @property
    def size(self) -> int:
        """Bytes of its graph and one style table."""
        return self._plug.size()

    def _engaged(self) -> Teacher:
        if self._teacher is None:
            self._teacher = self._plug.engage()
        return self._teacher

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        """Everything that decides its sound; it is deterministic."""
        return {
            "format": KEPT_FORMAT,
            "teacher": self._plug.card.name,
            "files": dict(self._plug.digests),
            "voice": self._voices[voice],
            "symbols": [list(s) for s in read(text, manner.dialect).symbols],
            "speed": manner.speed,
            **({"text": text} if self._is_reader else {}),
        }

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        """Speak, with durations (units of 600 samples) and pitch (80 a second)."""
        if manner.pitch:
            raise YaoheError("invalid_request", "the teacher cannot shift its pitch")
        symbols = read(text, manner.dialect).symbols
        lesson = self._engaged().speak(
            symbols, self._voices[voice], manner.speed, text=text
        )
        labels = {"durations": lesson.durations, "pitch_hz": lesson.pitch_hz}
        told = {name: value for name, value in labels.items() if value is not None}
        return Made(lesson.audio, told)

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Speak; the whole sentence is one chunk."""
        symbols, own = read(text).symbols, self._voices[voice]
        yield self._engaged().speak(symbols, own, text=text).audio

    def cpu_s(self) -> float:
        """Processor time of this process."""
        return time.process_time()


@dataclass
class Learnt:
    """The student as a system.

    Attributes:
        speaker: A loaded pack.
        name: What tables call it.
    """

    speaker: Speaker
    name: str = "student"

    @property
    def size(self) -> int:
        """Bytes of the pack's files."""
        return sum(file.size for file in self.speaker.pack.manifest.files.values())

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        """Everything that decides its sound; that it does is measured apart."""
        return {
            "format": KEPT_FORMAT,
            "pack": self.speaker.pack.sha256,
            "voice": voice,
            "symbols": [list(s) for s in read(text, manner.dialect).symbols],
            "dialect": manner.dialect,
            "speed": manner.speed,
            "pitch": manner.pitch,
        }

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        """Speak."""
        chunks = list(
            self.speaker.speak(
                read(text, manner.dialect).symbols,
                voice=voice,
                dialect=manner.dialect,
                speed=manner.speed,
                pitch=manner.pitch,
            )
        )
        return Made(np.concatenate(chunks) if chunks else np.zeros(0, np.float32))

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Speak, as a box does."""
        yield from self.speaker.speak(read(text).symbols, voice=voice)

    def cpu_s(self) -> float:
        """Processor time of this process."""
        return time.process_time()
