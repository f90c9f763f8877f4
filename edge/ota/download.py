"""Blobs on their way to the disk: part files, and what to ask for next.

Rules of this module:

* A part file has its full length before the first byte comes: the room is reserved.
* Notes of what a part file holds are only hints; every chunk they claim is hashed again
  when the file is opened.
* Chunks come in any order, doubled, from anyone. A blob counts when its digest is
  right; whoever adopts it checks that.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from common.protocol.repair import CHUNK_BYTES, MAX_WANTED, Wanted

HINT_BYTES = 16
"""Of a chunk's digest in the hints."""
WINDOW = 32
"""Chunks asked for and not yet here."""
PATIENCE_S = 3.0
"""Seconds until chunks that did not come are asked for again; doubles with each try."""
PATIENCE_MAX_S = 120.0
NOTHING = bytes(HINT_BYTES)


def count_chunks(size: int) -> int:
    """Chunks of a blob of some bytes."""
    return -(-size // CHUNK_BYTES)


class Part:
    """A blob that is being received.

    Attributes:
        sha256: Its digest, hex.
        size: Its length in bytes.
        path: The file.
        missing: Chunks that are not there.
    """

    def __init__(self, path: Path, sha256: str, size: int, hints: bytes) -> None:
        """Open the file or make it, at its full length.

        Args:
            path: The file; its folder exists.
            sha256: The blob's digest, hex.
            size: Its length in bytes.
            hints: What :meth:`sync` gave last time.

        Raises:
            OSError: The disk is full or refuses.
        """
        self.path = path
        self.sha256 = sha256
        self.size = size
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.fstat(self._file).st_size > size:
                os.ftruncate(self._file, size)
            if size:
                os.posix_fallocate(self._file, 0, size)
            self._digests = dict(self._claimed(hints))
        except BaseException:
            self.close()
            raise
        self.missing = set(range(count_chunks(size))) - self._digests.keys()

    @property
    def first_gap(self) -> tuple[int, int]:
        """First and last chunk of the first run that is missing."""
        return next(_runs(sorted(self.missing)))

    def length(self, index: int) -> int:
        """Bytes of a chunk."""
        return max(0, min(CHUNK_BYTES, self.size - index * CHUNK_BYTES))

    def write(self, index: int, chunk: bytes) -> bool:
        """Put a chunk in its place.

        Args:
            index: Its number.
            chunk: Its bytes.

        Returns:
            Whether it was missing; a chunk of another length never is.

        Raises:
            OSError: The disk is full or refuses.
        """
        if index not in self.missing or len(chunk) != self.length(index):
            return False
        rest, place = memoryview(chunk), index * CHUNK_BYTES
        while rest:
            written = os.pwrite(self._file, rest, place)
            rest, place = rest[written:], place + written
        self._digests[index] = _hint(chunk)
        self.missing.discard(index)
        return True

    def sync(self) -> bytes:
        """Bring all chunks to the disk.

        Returns:
            Hints for the next time the file is opened.

        Raises:
            OSError: The disk is full or refuses.
        """
        os.fdatasync(self._file)
        count = count_chunks(self.size)
        return b"".join(self._digests.get(index, NOTHING) for index in range(count))

    def is_right(self) -> bool:
        """Whether the whole file has the blob's digest."""
        digest = hashlib.sha256()
        for index in range(count_chunks(self.size)):
            digest.update(os.pread(self._file, CHUNK_BYTES, index * CHUNK_BYTES))
        return digest.hexdigest() == self.sha256

    def clear(self) -> None:
        """Forget every chunk."""
        self._digests.clear()
        self.missing = set(range(count_chunks(self.size)))

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _claimed(self, hints: bytes) -> Iterator[tuple[int, bytes]]:
        """Chunks that the hints claim and the file really holds."""
        for index in range(min(count_chunks(self.size), len(hints) // HINT_BYTES)):
            hint = hints[index * HINT_BYTES : (index + 1) * HINT_BYTES]
            if hint != NOTHING:
                place = index * CHUNK_BYTES
                if _hint(os.pread(self._file, self.length(index), place)) == hint:
                    yield index, hint


@dataclass
class Asking:
    """What was asked for, and when; no input or output here."""

    now: Callable[[], float]
    _asked: dict[tuple[str, int], float] = field(default_factory=dict)
    _tries: dict[str, int] = field(default_factory=dict)

    def came(self, sha256: str, index: int) -> None:
        """Note a chunk that came: the line works."""
        self._asked.pop((sha256, index), None)
        self._tries[sha256] = 1

    def forget(self, sha256: str) -> None:
        """Forget a blob."""
        self._tries.pop(sha256, None)
        for key in [key for key in self._asked if key[0] == sha256]:
            del self._asked[key]

    @property
    def is_low(self) -> bool:
        """Whether so little is on its way that more should be asked for."""
        return len(self._asked) <= WINDOW // 2

    def tries(self, sha256: str) -> int:
        """Questions since a chunk of a blob came last."""
        return self._tries.get(sha256, 0)

    def next(self, parts: list[Part]) -> list[Wanted]:
        """What to ask for now.

        Args:
            parts: Blobs that are being received, the most urgent first.

        Returns:
            At most one message full; nothing while enough is on its way.
        """
        now = self.now()
        for part in parts:
            doublings = max(0, self.tries(part.sha256) - 1)
            patience = min(PATIENCE_S * 2**doublings, PATIENCE_MAX_S)
            for index in range(count_chunks(part.size)):
                since = self._asked.get((part.sha256, index))
                if since is not None and now - since >= patience:
                    del self._asked[(part.sha256, index)]
        room = WINDOW - len(self._asked)
        # A question for every chunk that comes would be as many questions as chunks.
        if not self.is_low:
            return []
        wanted: list[Wanted] = []
        for part in parts:
            asked = {index for sha256, index in self._asked if sha256 == part.sha256}
            free = sorted(part.missing - asked)
            for first, last in _runs(free[:room]):
                if len(wanted) == MAX_WANTED:
                    break
                wanted.append(Wanted(bytes.fromhex(part.sha256), first, last))
                for index in range(first, last + 1):
                    self._asked[(part.sha256, index)] = now
                room -= last + 1 - first
            if free:
                self._tries[part.sha256] = min(self.tries(part.sha256) + 1, 16)
            if room <= 0:
                break
        return wanted


def _hint(chunk: bytes) -> bytes:
    return hashlib.blake2b(chunk, digest_size=HINT_BYTES).digest()


def _runs(indexes: list[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as runs of first and last."""
    first: int | None = None
    for place, index in enumerate(indexes):
        if first is None:
            first = index
        if place + 1 == len(indexes) or indexes[place + 1] != index + 1:
            yield first, index
            first = None
