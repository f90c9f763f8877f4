"""Measures a voice beside its teacher: the same sentences, the same run, one core.

Both sides speak held sentences; the judge writes down what it hears; syllable error,
real-time factor (reading included) and, if asked for, DNSMOS are counted. The sounds
stay beside the result, so that a person can listen too.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import mean, median
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.audio.wav import write_wav
from common.errors import YaoheError
from common.files import make_directory
from common.text import read
from common.voice.runtime import describe
from common.voice.speak import Speaker
from distill.judge.client import Heard
from distill.judge.score import Score, score, total
from distill.notes import write_note
from distill.teacher.base import Teacher

RESULT = "evaluation.json"


class Ear(Protocol):
    """What listens; :class:`distill.judge.client.Judge` does."""

    def hear(self, wav: Path) -> Heard:
        """Write down what a file says."""


class System(Protocol):
    """What is measured."""

    @property
    def name(self) -> str:
        """``teacher`` or ``student``."""

    @property
    def size(self) -> int:
        """Bytes of what it needs on disk to speak one voice."""

    def speak(self, text: str, voice: str) -> list[NDArray[np.float32]]:
        """Read and speak a text in a logical voice.

        Args:
            text: The text.
            voice: The logical voice.

        Returns:
            Chunks in order; the clock is stopped at the first and at the last.
        """


@dataclass
class Taught:
    """The teacher as a system.

    Attributes:
        teacher: The teacher.
        voices: Its own voice by logical voice.
        size: Bytes of its graph and one style table.
    """

    teacher: Teacher
    voices: Mapping[str, str]
    size: int
    name: str = "teacher"

    def speak(self, text: str, voice: str) -> list[NDArray[np.float32]]:
        """Read and speak a text; the whole sentence is one chunk."""
        return [self.teacher.speak(read(text).symbols, self.voices[voice]).audio]


@dataclass
class Learnt:
    """The student as a system.

    Attributes:
        speaker: A loaded pack.
    """

    speaker: Speaker
    name: str = "student"
    first_s: float = 0.0

    @property
    def size(self) -> int:
        """Bytes of the pack's files."""
        return sum(file.size for file in self.speaker.pack.manifest.files.values())

    def speak(self, text: str, voice: str) -> list[NDArray[np.float32]]:
        """Read and speak a text, noting when the first chunk was there."""
        started = time.perf_counter()
        chunks: list[NDArray[np.float32]] = []
        for chunk in self.speaker.speak(read(text).symbols, voice=voice):
            if not chunks:
                self.first_s = time.perf_counter() - started
            chunks.append(chunk)
        return chunks


@dataclass(frozen=True)
class Row:
    """One sentence by one system in one voice.

    Attributes:
        number: Its place in the held set.
        system: Who spoke.
        voice: In which logical voice.
        text: What should have been said.
        heard: What was understood.
        errors: Syllables that were not understood.
        syllables: Syllables of the text.
        seconds: Length of the sound.
        wall_s: Time it took, reading included.
        cpu_s: Processor time it took; on a busy machine the fairer number.
        first_s: Time to the first sound.
        quality: DNSMOS scores where they were asked for.
    """

    number: int
    system: str
    voice: str
    text: str
    heard: str
    errors: int
    syllables: int
    seconds: float
    wall_s: float
    cpu_s: float
    first_s: float
    quality: dict[str, float] = field(default_factory=dict)


def _spoken(
    system: System, number: int, text: str, voice: str, folder: Path, ear: Ear
) -> Row:
    """Let a system speak a sentence and the judge listen."""
    wall, cpu = time.perf_counter(), time.process_time()
    chunks = system.speak(text, voice)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    if not chunks:
        raise YaoheError("nothing_to_say", f"{system.name} says nothing for {text}")
    sound = np.concatenate(chunks)
    wav = folder / f"{system.name}-{voice}" / f"{number:03d}.wav"
    make_directory(wav.parent)
    wav.write_bytes(write_wav(np.clip(sound, -1.0, 1.0), ()))
    heard = ear.hear(wav)
    found = score(text, heard.text)
    first_s = system.first_s if isinstance(system, Learnt) else wall_s
    return Row(
        number=number,
        system=system.name,
        voice=voice,
        text=text,
        heard=heard.text,
        errors=found.errors,
        syllables=found.syllables,
        seconds=round(len(sound) / SAMPLE_RATE, 3),
        wall_s=round(wall_s, 5),
        cpu_s=round(cpu_s, 5),
        first_s=round(first_s, 5),
        quality=heard.quality,
    )


def measure(
    systems: Sequence[System],
    voices: Sequence[str],
    sentences: Sequence[str],
    folder: Path,
    ear: Ear,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Let all systems speak all sentences, sentence by sentence.

    Args:
        systems: Who speaks.
        voices: Logical voices.
        sentences: What is said.
        folder: Where the sounds are kept.
        ear: Who listens.
        advance: Called after each sound.

    Returns:
        A row for each sentence, voice and system.
    """
    for system in systems:  # the first run fills tables; nobody is timed on it
        system.speak(sentences[0], voices[0])
    rows = []
    for number, text in enumerate(sentences, start=1):
        for voice in voices:
            for system in systems:
                rows.append(_spoken(system, number, text, voice, folder, ear))
                advance()
    return rows


def summary(
    rows: Sequence[Row], sizes: Mapping[str, int]
) -> list[dict[str, float | int | str]]:
    """Bring rows to one line per system and voice.

    Args:
        rows: As measured.
        sizes: Bytes by system.

    Returns:
        Flat dictionaries with the same keys, fit for a table.
    """
    lines: list[dict[str, float | int | str]] = []
    for system, voice in dict.fromkeys((row.system, row.voice) for row in rows):
        mine = [r for r in rows if (r.system, r.voice) == (system, voice)]
        seconds = sum(row.seconds for row in mine)
        found = total([Score(row.errors, row.syllables) for row in mine])
        line: dict[str, float | int | str] = {
            "system": system,
            "voice": voice,
            "sentences": len(mine),
            "syllables": found.syllables,
            "syllable_error": round(found.rate, 4),
            "rtf": round(sum(row.wall_s for row in mine) / seconds, 4),
            "rtf_cpu": round(sum(row.cpu_s for row in mine) / seconds, 4),
            "first_ms": round(1000 * median(row.first_s for row in mine), 1),
            "seconds": round(seconds, 1),
            "bytes": sizes[system],
        }
        for name in mine[0].quality:
            line[f"dnsmos_{name}"] = round(mean(r.quality[name] for r in mine), 3)
        lines.append(line)
    return lines


def machine() -> dict[str, Any]:
    """What the figures depend on besides the voice."""
    return {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "onnxruntime": describe().version,
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def write_result(
    folder: Path,
    rows: Sequence[Row],
    sizes: Mapping[str, int],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Keep a measurement.

    Args:
        folder: Where ``evaluation.json`` goes.
        rows: As measured.
        sizes: Bytes by system.
        facts: What was measured on what.

    Returns:
        What was written.
    """
    result: dict[str, Any] = {
        **facts,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "judge": "Whisper base, int8, beam 5, one temperature",
        "systems": summary(rows, sizes),
        "rows": [asdict(row) for row in rows],
    }
    write_note(folder / RESULT, result)
    return result
