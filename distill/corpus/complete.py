"""What a teacher does not tell is found out: pitch at once, durations at the end.

Durations are learnt from all sentences together, so they come when all are said; they
lie in a file of their own, which is there as a whole or not at all.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.files import write_atomic
from distill.corpus import align, ledger
from distill.corpus.pitch import pitch
from distill.notes import sha256_of
from distill.teacher.base import UNIT_SAMPLES, Lesson

ALIGNMENT = "alignment.npz"
LONGEST_S = 3 * 3600
"""Seconds of speech that the aligner learns from; all of the corpus is aligned."""


def completed(lesson: Lesson) -> Lesson:
    """Find out the pitch of a lesson that does not tell it.

    Args:
        lesson: As a teacher gave it.

    Returns:
        The lesson with pitch; without told durations its sound is filled up with
        silence to a whole number of units.
    """
    audio = lesson.audio
    if lesson.durations is None:
        audio = np.pad(audio, (0, -len(audio) % UNIT_SAMPLES))
    hertz = pitch(audio) if lesson.pitch_hz is None else lesson.pitch_hz
    return replace(lesson, audio=audio, pitch_hz=hertz)


def has_durations(path: Path) -> bool:
    """Whether the teacher told how long the symbols of a sentence are.

    Args:
        path: The sentence's file.
    """
    with np.load(path) as file:
        return "dur" in file


def read_alignment(folder: Path) -> Mapping[int, NDArray[np.int16]]:
    """Read the durations that were found out.

    Args:
        folder: The corpus.

    Returns:
        Units of each symbol by sentence; nothing where nothing was aligned.
    """
    path = folder / ALIGNMENT
    if not path.exists():
        return {}
    with np.load(path) as file:
        return {int(number): file[number] for number in file.files}


def align_corpus(folder: Path) -> dict[str, Any] | None:
    """Find out the durations of every sentence whose teacher told none.

    Args:
        folder: A corpus in which all is said.

    Returns:
        How many sentences were aligned, how many are too short for their symbols, and
        the digest of the file; None where the teacher told all.
    """
    numbers = [
        number
        for number in sorted({int(row["id"]) for row in ledger.rows(folder)})
        if not has_durations(ledger.file_of(folder, number))
    ]
    if not numbers:
        return None
    sentences = {number: _sentence(folder, number) for number in numbers}
    frames, taught = 0, []
    for sentence in sentences.values():
        frames += len(sentence.features)
        taught.append(sentence)
        if frames * align.HOP > LONGEST_S * SAMPLE_RATE:
            break
    aligner = align.learn(taught)
    durations: dict[str, NDArray[np.int16]] = {}
    for number, sentence in sentences.items():
        if sentence.is_long_enough:
            durations[str(number)] = aligner.units(sentence).astype(np.int16)
    buffer = io.BytesIO()
    np.savez(buffer, **durations)  # type: ignore[arg-type]
    write_atomic(folder / ALIGNMENT, buffer.getvalue())
    return {
        "sentences": len(durations),
        "too_short": len(numbers) - len(durations),
        "sha256": sha256_of(folder / ALIGNMENT),
    }


def _sentence(folder: Path, number: int) -> align.Sentence:
    """A sentence's file as the aligner wants it."""
    with np.load(ledger.file_of(folder, number)) as file:
        audio, rows = file["audio"].astype(np.float32) / 32768, file["sym"]
    symbols = tuple(int(row[0]) for row in rows)
    return align.Sentence(symbols, *align.features(audio))
