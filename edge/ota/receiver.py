"""The blobs of one update while they come: part files, questions, faults."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping

from common.protocol.repair import Need
from edge.ota.download import Asking, Part
from edge.ota.refusal import Refused
from edge.ota.updater import Updater

CHECKPOINT = 32
"""Chunks after which what came is noted."""
MAX_FAULTS = 3
"""Times a blob may come with a wrong digest."""

log = logging.getLogger(__name__)


class Receiver:
    """Blobs that are wanted. Its methods block; one thread at a time calls them.

    Attributes:
        parts: Part files by the digest of their blob.
    """

    def __init__(self, updater: Updater) -> None:
        """Start with nothing.

        Args:
            updater: Opens part files and adopts what is complete.
        """
        self.parts: dict[str, Part] = {}
        self._updater = updater
        self._asking = Asking(time.monotonic)
        self._faults: Counter[str] = Counter()
        self._came_at = time.monotonic()
        self._since_checkpoint = 0

    @property
    def idle_s(self) -> float:
        """Seconds since anything came, or since the turn began."""
        return time.monotonic() - self._came_at

    @property
    def is_low(self) -> bool:
        """Whether more should be asked for."""
        return self._asking.is_low

    def begin_turn(self) -> None:
        """Count idleness from now on."""
        self._came_at = time.monotonic()

    def open(self, missing: Mapping[str, int]) -> None:
        """Want blobs.

        Args:
            missing: Size of each blob by its digest.

        Raises:
            OSError: The disk is full or refuses.
        """
        for sha256, size in missing.items():
            part = self._updater.open_part(sha256, size)
            self.parts[sha256] = part
            if not part.missing:
                self._adopt(part)

    def take(self, digest: str, index: int, chunk: bytes) -> bool:
        """Take a chunk of a wanted blob.

        Returns:
            Whether its blob is done with.

        Raises:
            OSError: The disk is full or refuses.
            DatabaseGone: What came cannot be noted.
        """
        part = self.parts[digest]
        self._came_at = time.monotonic()
        self._asking.came(digest, index)
        if not part.write(index, chunk):
            return False
        if not part.missing:
            self._adopt(part)
            return True
        self._since_checkpoint += 1
        if self._since_checkpoint >= CHECKPOINT:
            self._since_checkpoint = 0
            self._updater.ledger.keep_hints(digest, part.sync())
        return False

    def question(self) -> Need | None:
        """What to ask the cloud for now, if anything."""
        wanted = self._asking.next(list(self.parts.values()))
        return Need(blobs=wanted) if wanted else None

    def check_faults(self) -> None:
        """Give up on a blob that came damaged too often.

        Raises:
            Refused: ``damaged``.
        """
        for sha256, faults in self._faults.items():
            if faults >= MAX_FAULTS:
                raise Refused(
                    "damaged", f"file {sha256[:12]} came damaged {faults} times"
                )

    def forget_faults(self) -> None:
        """Begin with a clean sheet: another update, or another attempt."""
        self._faults.clear()

    def close(self) -> None:
        """Close all part files; what they hold stays."""
        for part in self.parts.values():
            self._asking.forget(part.sha256)
            part.close()
        self.parts.clear()

    def _adopt(self, part: Part) -> None:
        self._asking.forget(part.sha256)
        if self._updater.adopt(part):
            del self.parts[part.sha256]
        else:
            log.warning("blob %s came damaged", part.sha256[:12])
            self._faults[part.sha256] += 1
