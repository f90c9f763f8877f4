"""A corpus on disk: one file a sentence, an index that grows, a manifest at the end.

A sentence's file is replaced atomically before its row is written, so a row always has
its file; rows without a file never exist and a torn last row is ignored.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from common.audio.pcm import SAMPLE_RATE, to_s16
from common.errors import YaoheError
from common.files import TEMPORARY_SUFFIX, make_directory
from common.text.symbols import Symbol
from distill.notes import sha256_of, write_note
from distill.teacher.base import Lesson

INDEX, REJECTED, MANIFEST = "index.jsonl", "rejected.jsonl", "corpus.json"
LOCK = ".lock"


@dataclass(frozen=True)
class Entry:
    """A sentence's row of the index.

    Attributes:
        id: Its number; its file is ``NNNNNN.npz``.
        voice: The teacher's voice.
        text: What it says.
        seconds: Length of its sound.
        speed: Speed that the teacher was asked for.
        sha256: Digest of its file.
        dialect: Whose segments it has; the contours are Mandarin.
        is_told: Whether the teacher only told how it would say it; there is no sound.
    """

    id: int
    voice: str
    text: str
    seconds: float
    speed: float
    sha256: str
    dialect: str = "zh"
    is_told: bool = False


def file_of(folder: Path, number: int) -> Path:
    """The file of a sentence."""
    return folder / f"{number:06d}.npz"


def save(
    folder: Path,
    number: int,
    symbols: Sequence[Symbol],
    lesson: Lesson,
    speed: float = 1.0,
) -> tuple[float, str]:
    """Write a sentence's file.

    Args:
        folder: The corpus.
        number: The sentence's number.
        symbols: What was asked for.
        lesson: What the teacher said, with pitch; without durations where they are to
            be found once all is said, without sound where it only told.
        speed: Speed that it was asked for.

    Returns:
        Seconds of sound and the file's digest.

    Raises:
        YaoheError: ``not_ready`` for a lesson without pitch.
    """
    if lesson.pitch_hz is None:
        raise YaoheError("not_ready", "the pitch of this lesson is not known")
    arrays: dict[str, Any] = {
        "f0": lesson.pitch_hz.astype(np.float32),
        "sym": np.array(symbols, np.int32),
        "speed": np.float32(speed),
    }
    if lesson.audio.size:
        arrays["audio"] = np.frombuffer(to_s16(lesson.audio), "<i2")
    if lesson.durations is not None:
        arrays["dur"] = lesson.durations.astype(np.int16)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    data = buffer.getvalue()
    path = file_of(folder, number)
    # Without a sync: a file lost to a power cut is made again, and syncs are slow.
    part = path.with_name(path.name + TEMPORARY_SUFFIX)
    part.write_bytes(data)
    os.replace(part, path)
    return lesson.samples / SAMPLE_RATE, hashlib.sha256(data).hexdigest()


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """All rows of a corpus, however many index files it has."""
    for index in sorted(folder.glob("index*.jsonl")):
        yield from _lines(index)


def rejected(folder: Path) -> list[dict[str, Any]]:
    """Sentences that were left out, with the reason."""
    return list(_lines(folder / REJECTED))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # torn by a kill; its sentence is made again


class Ledger:
    """An open corpus; one process at a time, see :func:`opened`."""

    def __init__(self, folder: Path, index: IO[str], refused: IO[str]) -> None:
        """Take the open files."""
        self.folder = folder
        self._index = index
        self._refused = refused

    def add(self, entry: Entry) -> None:
        """Append a row."""
        self._append(self._index, asdict(entry))

    def reject(self, number: int, text: str, reason: str) -> None:
        """Note a sentence that was left out."""
        self._append(self._refused, {"id": number, "text": text, "reason": reason})

    def _append(self, file: IO[str], values: dict[str, Any]) -> None:
        file.write(json.dumps(values, ensure_ascii=False) + "\n")
        file.flush()


@contextmanager
def opened(folder: Path) -> Iterator[Ledger]:
    """Open a corpus for adding, alone.

    Args:
        folder: The corpus; it is made.

    Yields:
        The ledger.

    Raises:
        YaoheError: ``not_ready`` where another process adds to it.
    """
    make_directory(folder)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise YaoheError(
                "not_ready", f"another process adds to {folder}; wait for it"
            ) from None
        for name in (INDEX, REJECTED):
            _mend(folder / name)
        with (
            (folder / INDEX).open("a", encoding="utf-8") as index,
            (folder / REJECTED).open("a", encoding="utf-8") as refused,
        ):
            yield Ledger(folder, index, refused)


def _mend(path: Path) -> None:
    """End a last line that a kill has torn, so that the next row begins its own."""
    if not path.exists() or not path.stat().st_size:
        return
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def write_manifest(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Write what a finished corpus holds.

    Args:
        folder: The corpus.
        facts: Recipe, teacher and their digests.

    Returns:
        The manifest: ``facts``, spoken and told seconds by voice, and one digest over
        all files.
    """
    seconds: dict[str, float] = {}
    told: dict[str, float] = {}
    digests: dict[int, str] = {}
    for row in rows(folder):
        number = int(row["id"])
        if number in digests:
            continue
        sha256 = row.get("sha256")
        if sha256 is None:  # from before rows had digests
            sha256 = sha256_of(file_of(folder, number))
        digests[number] = sha256
        sums = told if row.get("is_told") else seconds
        sums[row["voice"]] = sums.get(row["voice"], 0.0) + row["seconds"]
    text = "".join(f"{number} {digests[number]}\n" for number in sorted(digests))
    manifest = {
        **facts,
        "sentences": len(digests),
        "rejected": len(rejected(folder)),
        "seconds": {voice: round(seconds[voice], 1) for voice in sorted(seconds)},
        "told_seconds": {voice: round(told[voice], 1) for voice in sorted(told)},
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    write_note(folder / MANIFEST, manifest)
    return manifest
