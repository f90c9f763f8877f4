"""How fast: real-time factor and first sound, always measured anew, never kept.

All systems speak the same sentences in turn, so that a machine that does other work
slows all of them alike; of several rounds the median counts. Reading is included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.text import read
from distill.corpus.held import skeleton
from distill.evaluate.systems import Learnt

FIRST_CHARACTERS = 20
"""Length of the sentences whose first sound is timed; they have no punctuation."""


class Streams(Protocol):
    """A system as the clock sees it."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Read and speak a text, chunk by chunk."""

    def cpu_s(self) -> float:
        """Processor time that it has used so far."""


@dataclass(frozen=True)
class Lap:
    """One sentence once.

    Attributes:
        wall_s: Time it took, reading included.
        cpu_s: Processor time it took; on a busy machine the fairer number.
        first_s: Time to the first sound.
        seconds: Length of the sound.
    """

    wall_s: float
    cpu_s: float
    first_s: float
    seconds: float


def lap(system: Streams, text: str, voice: str) -> Lap:
    """Time one sentence.

    Args:
        system: Who speaks.
        text: What.
        voice: In which logical voice.

    Returns:
        The times.
    """
    cpu, started = system.cpu_s(), time.perf_counter()
    first = 0.0
    samples = 0
    for chunk in system.stream(text, voice):
        first = first or time.perf_counter() - started
        samples += len(chunk)
    wall = time.perf_counter() - started
    return Lap(wall, system.cpu_s() - cpu, first, samples / SAMPLE_RATE)


def race(
    systems: Sequence[Streams], sentences: Sequence[str], voice: str, rounds: int = 3
) -> dict[str, dict[str, Any]]:
    """Let systems speak sentences in turn.

    Args:
        systems: Who speaks.
        sentences: What; the first one is spoken once before to warm up.
        voice: The logical voice.
        rounds: How often.

    Returns:
        By system: ``rtf`` and ``rtf_cpu`` (median of the rounds), ``first_ms`` (median
        of all laps), how many sentences and rounds, and the factors of the rounds.
    """
    for system in systems:
        lap(system, sentences[0], voice)
    laps: dict[str, list[list[Lap]]] = {system.name: [] for system in systems}
    for _ in range(rounds):
        for system in systems:
            laps[system.name].append([])
        for text in sentences:
            for system in systems:
                laps[system.name][-1].append(lap(system, text, voice))
    return {name: _line(found) for name, found in laps.items()}


def _line(rounds: Sequence[Sequence[Lap]]) -> dict[str, Any]:
    """Rounds of one system in one line."""
    wall = [sum(x.wall_s for x in r) / sum(x.seconds for x in r) for r in rounds]
    cpu = [sum(x.cpu_s for x in r) / sum(x.seconds for x in r) for r in rounds]
    return {
        "sentences": len(rounds[0]),
        "rounds": len(rounds),
        "rtf": round(median(wall), 5),
        "rtf_cpu": round(median(cpu), 5),
        "rtf_rounds": [round(value, 5) for value in wall],
        "first_ms": round(1000 * median(x.first_s for r in rounds for x in r), 1),
    }


def short_sentences(sentences: Sequence[str], count: int) -> list[str]:
    """Sentences of exactly 20 characters without punctuation.

    Args:
        sentences: Held sentences.
        count: How many are wanted.

    Returns:
        The beginnings of the first ones that are long enough, numbers in words.
    """
    bare = [skeleton(text) for text in sentences]
    fit = [t for t in bare if len(t) >= FIRST_CHARACTERS and t.isascii() is False]
    return [text[:FIRST_CHARACTERS] for text in fit[:count]]


def first_sound(student: Learnt, texts: Sequence[str], voice: str) -> dict[str, Any]:
    """Time to the first sound of short sentences, each said once.

    Args:
        student: A student, warm, with the threads that are to be measured.
        texts: From :func:`short_sentences`; all different, so that nothing is warm.
        voice: The logical voice.

    Returns:
        Median and highest in milliseconds, how many, and what reading takes of it.
    """
    lap(student, "欢迎光临", voice)
    first, reading = [], []
    for text in texts:
        first.append(1000 * lap(student, text, voice).first_s)
        started = time.perf_counter()
        read(text)
        reading.append(1000 * (time.perf_counter() - started))
    return {
        "sentences": len(texts),
        "characters": FIRST_CHARACTERS,
        "median_ms": round(median(first), 1),
        "highest_ms": round(max(first), 1),
        "reading_ms": round(median(reading), 2),
    }
