"""What this box trusts now: metadata that came over the line, verified and remembered.

Metadata is kept as it comes, unverified; python-tuf reads it from there in its own
order. What it trusts raises the time floor, which no clock can lower.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import wrap_future
from collections.abc import Callable
from pathlib import Path

from common.errors import YaoheError
from common.protocol import topics
from common.trust.updater import TOP_ROLES, Trusted, TrustUpdater
from edge.clock import RELEASE_FLOOR_S
from edge.sync.book import Book
from edge.sync.marks import FLOOR, Marks
from edge.sync.refusals import Refusals

MAX_METADATA_BYTES = 256 * 1024
"""Longest message that is kept as metadata."""


class TrustDesk:
    """The box's trusted view of the chain's repository.

    Attributes:
        trusted: What is trusted; None until the first metadata held.
        refusal: Why the newest metadata was not taken up; None when it was.
        is_lacking: Whether that is because a part of it did not come.
    """

    def __init__(
        self,
        book: Book,
        marks: Marks,
        folder: Path,
        bootstrap: bytes,
        wall: Callable[[], float],
        refusals: Refusals | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            book: Where metadata is kept.
            marks: The highest versions ever trusted.
            folder: For python-tuf's cache.
            bootstrap: The root that enrolment brought.
            wall: The machine's clock, seconds since 1970.
            refusals: Writes down what is refused.
        """
        self.trusted: Trusted | None = None
        self.refusal: str | None = None
        self.is_lacking = False
        self._book = book
        self._wall = wall
        self._refusals = refusals or Refusals()
        self._marks = marks
        self._updater = TrustUpdater(folder, bootstrap, book, marks)
        self._floor = RELEASE_FLOOR_S

    @property
    def floor_s(self) -> int:
        """The latest time that was ever signed for, seconds since 1970."""
        return self._floor

    @property
    def is_clock_suspect(self) -> bool:
        """Whether the machine's clock is clearly wrong."""
        is_ahead = self.trusted is not None and self.trusted.is_clock_suspect
        return is_ahead or self._wall() < self._floor

    def load(self) -> None:
        """Take up the floor of earlier runs."""
        # Boxes of the first release kept it among the facts.
        told = int(self._book.fact(FLOOR) or 0)
        self._floor = max(self._floor, told, self._marks.versions().get(FLOOR, 0))

    async def take(self, topic: topics.Topic, content: bytes) -> None:
        """Keep metadata that came over the line.

        Args:
            topic: Its address, which is its name.
            content: Its bytes, unverified.
        """
        if not content or len(content) > MAX_METADATA_BYTES:
            return
        if isinstance(topic, topics.Metadata):
            if topic.role not in TOP_ROLES:
                # Its keys stand in the targets; its own list is empty.
                return
            name = f"{topic.version}.{topic.role}.json"
        else:
            name = "timestamp.json"
        await wrap_future(self._book.keep_metadata(name, content))

    async def refresh(self) -> bool:
        """Verify what came.

        Returns:
            Whether something new is trusted.
        """
        before = self.trusted
        try:
            trusted = await asyncio.to_thread(
                self._updater.refresh, self._wall(), self._floor
            )
        except YaoheError as error:
            self.is_lacking = error.code == "not_ready"
            if not self.is_lacking:
                line = f"metadata is refused: {error.message}"
                self._refusals.say("metadata", error.code, line, level=logging.ERROR)
            self.refusal = error.message
            return False
        self.trusted, self.refusal, self.is_lacking = trusted, None, False
        await wrap_future(self._book.drop_older(trusted.versions))
        await self.raise_floor(trusted.issued)
        return before is None or before.versions != trusted.versions

    async def raise_floor(self, issued_s: int) -> None:
        """Note a time that something trusted was signed at.

        Args:
            issued_s: Seconds since 1970.
        """
        if issued_s > self._floor:
            self._floor = issued_s
            await asyncio.to_thread(self._marks.raise_to, {FLOOR: issued_s})
