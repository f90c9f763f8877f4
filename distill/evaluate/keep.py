"""What was spoken and heard once, kept by digest, so that a second run does less.

A sound is kept under the digest of everything that decides it: who speaks, in which
voice, which symbols, how fast. An answer of the judge is kept under the digest of the
sound it is about. Nothing here knows a file's age: another pack, another symbol or
another judge is another digest.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.files import make_directory, write_atomic
from distill.notes import read_note, write_note

SOUND, LABELS = ".wav", ".npz"


def digest_of(facts: Mapping[str, Any]) -> str:
    """SHA-256 of plain JSON, in hexadecimal digits."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Kept:
    """A sound on disk.

    Attributes:
        wav: The file, 16 bits.
        sha256: Digest of the file.
        labels: What the speaker told about it, such as durations.
    """

    wav: Path
    sha256: str
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def sound(self) -> NDArray[np.float32]:
        """The samples, ``[samples]`` in -1..1."""
        samples, _ = soundfile.read(self.wav, dtype="float32")
        return np.asarray(samples, np.float32)


@dataclass(frozen=True)
class Made:
    """A sound that has just been spoken.

    Attributes:
        sound: ``[samples]``.
        labels: Arrays to keep beside it.
        rate: Samples per second; ours is 24,000, other engines have their own.
    """

    sound: NDArray[np.float32]
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    rate: int = SAMPLE_RATE


class Shelf:
    """Sounds and answers below one folder; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        """Take a folder.

        Args:
            folder: Made where it is missing.
        """
        self._folder = folder

    def _place(self, kind: str, digest: str, suffix: str) -> Path:
        return self._folder / kind / digest[:2] / f"{digest}{suffix}"

    def sound(self, facts: Mapping[str, Any], make: Callable[[], Made]) -> Kept:
        """The sound that some facts stand for, spoken where it is not there yet.

        Args:
            facts: Everything that decides the sound, as plain JSON.
            make: Speaks it.

        Returns:
            The sound on disk.
        """
        digest = digest_of(facts)
        wav = self._place("sounds", digest, SOUND)
        labels = wav.with_suffix(LABELS)
        if not (wav.exists() and labels.exists()):
            made = make()
            make_directory(wav.parent)
            told, heard = io.BytesIO(), io.BytesIO()
            labelled: dict[str, Any] = dict(made.labels)
            np.savez_compressed(told, **labelled)
            sound = np.clip(made.sound, -1.0, 1.0)
            soundfile.write(heard, sound, made.rate, "PCM_16", format="WAV")
            write_atomic(labels, told.getvalue())
            write_atomic(wav, heard.getvalue())
        with np.load(labels) as file:
            kept = {name: file[name] for name in file.files}
        return Kept(wav, hashlib.sha256(wav.read_bytes()).hexdigest(), kept)

    def answer(
        self, facts: Mapping[str, Any], ask: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """The answer to a question, asked where it is not there yet.

        Args:
            facts: The question with the digest of its sound, as plain JSON.
            ask: Finds the answer.

        Returns:
            The answer.
        """
        path = self._place("answers", digest_of(facts), ".json")
        kept = read_note(path)
        if not kept:
            kept = ask()
            write_note(path, kept)
        return kept
