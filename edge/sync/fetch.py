"""Blobs on their way: what is wanted, what was asked for, what has come.

No input or output here. Chunks come in any order, doubled, from anyone: a blob counts
only when its digest is right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from common.protocol.repair import CHUNK_BYTES, MAX_CHUNKS, MAX_WANTED, Wanted

WINDOW_BYTES = 512 * 1024
"""Bytes asked for and not yet here."""
PATIENCE_S = 5.0
"""Seconds until chunks that did not come are asked for again; doubles with each try."""
PATIENCE_MAX_S = 120.0
MAX_FAULTS = 3
"""Times a blob may come with a wrong digest before it is given up."""
UNKNOWN_BYTES = 256 * 1024
"""What a blob of unknown size counts for in the window."""


@dataclass
class _Blob:
    """A blob that is wanted."""

    size: int | None
    limit: int
    chunks: dict[int, bytes] = field(default_factory=dict)
    asked_at: float | None = None
    tries: int = 0
    faults: int = 0

    @property
    def count(self) -> int | None:
        """Chunks it has, as soon as that is known."""
        if self.size is not None:
            return max(1, -(-self.size // CHUNK_BYTES))
        ends = [i for i, chunk in self.chunks.items() if len(chunk) < CHUNK_BYTES]
        return min(ends) + 1 if ends else None

    @property
    def gap(self) -> tuple[int, int]:
        """First and last chunk that are missing."""
        first = next(i for i in range(MAX_CHUNKS) if i not in self.chunks)
        count = self.count
        if count is None:
            return first, min(MAX_CHUNKS - 1, -(-self.limit // CHUNK_BYTES))
        return first, max(
            (i for i in range(count) if i not in self.chunks), default=first
        )


class Fetch:
    """Everything that is being fetched.

    Attributes:
        given_up: Blobs that came wrong too often; never asked for by themselves again.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Start with nothing.

        Args:
            now: Monotonic seconds.
        """
        self.given_up: set[str] = set()
        self._now = now
        self._blobs: dict[str, _Blob] = {}

    def __len__(self) -> int:
        """Blobs that are wanted."""
        return len(self._blobs)

    def want(self, digest: str, size: int | None, limit: int) -> None:
        """Want a blob.

        Args:
            digest: Its SHA-256, hex.
            size: Its length in bytes, if known.
            limit: Longest that is taken.
        """
        if digest not in self.given_up and digest not in self._blobs:
            self._blobs[digest] = _Blob(size, limit)

    def forget(self, keep: set[str]) -> None:
        """Stop wanting all but some."""
        for digest in self._blobs.keys() - keep:
            del self._blobs[digest]

    def ask(self) -> list[Wanted]:
        """What to ask for now, within the window.

        Returns:
            At most one message full; nothing when all is asked for.
        """
        now = self._now()
        window = WINDOW_BYTES
        asked: list[Wanted] = []
        for digest, blob in self._blobs.items():
            cost = min(blob.size or UNKNOWN_BYTES, WINDOW_BYTES)
            if blob.asked_at is not None:
                patience = min(PATIENCE_S * 2 ** (blob.tries - 1), PATIENCE_MAX_S)
                if now - blob.asked_at < patience:
                    window -= cost
                    continue
            if len(asked) >= MAX_WANTED or cost > window:
                break
            window -= cost
            blob.asked_at = now
            blob.tries = min(blob.tries + 1, 16)
            asked.append(Wanted(bytes.fromhex(digest), *blob.gap))
        return asked

    def late(self, count: int, *, is_line_up: bool) -> list[tuple[str, int]]:
        """Blobs that another way may bring sooner.

        Args:
            count: Most blobs.
            is_line_up: Whether they can be asked for over the line; if not, all of them
                are late.

        Returns:
            Digest and longest length of each.
        """
        found = [
            (digest, blob.size if blob.size is not None else blob.limit)
            for digest, blob in self._blobs.items()
            if blob.tries > 1 or not is_line_up
        ]
        return found[:count]

    def take_whole(self, digest: str, content: bytes) -> bytes | None:
        """Take a blob that came by another way.

        Args:
            digest: Its SHA-256, hex.
            content: Its bytes, from anyone.

        Returns:
            Them, if it is wanted and its digest is right.
        """
        blob = self._blobs.get(digest)
        is_right = hashlib.sha256(content).hexdigest() == digest
        if blob is None or not is_right or len(content) > blob.limit:
            return None
        del self._blobs[digest]
        return content

    def take(self, digest: str, index: int, chunk: bytes) -> bytes | None:
        """Take a chunk.

        Args:
            digest: Its blob.
            index: Its number.
            chunk: Its bytes.

        Returns:
            The whole blob when this chunk completed it and its digest is right.
        """
        blob = self._blobs.get(digest)
        if blob is None or len(chunk) > CHUNK_BYTES:
            return None
        if index * CHUNK_BYTES + len(chunk) > blob.limit:
            return None
        blob.chunks[index] = chunk
        # News: the rest may still be on its way.
        blob.asked_at = self._now() if blob.asked_at is not None else None
        count = blob.count
        if count is None or any(i not in blob.chunks for i in range(count)):
            return None
        content = b"".join(blob.chunks[i] for i in range(count))
        if hashlib.sha256(content).hexdigest() == digest:
            del self._blobs[digest]
            return content
        blob.chunks.clear()
        blob.asked_at = None
        blob.faults += 1
        if blob.faults >= MAX_FAULTS:
            self.given_up.add(digest)
            del self._blobs[digest]
        return None
