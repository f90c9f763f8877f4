"""What the cloud shall know: events and counts, on the disk until the broker has them.

At least once, in order, each with its number; the cloud counts a number once.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import wrap_future
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from common.errors import YaoheError
from common.mqtt import Link, LinkDown, PublishRefused
from common.protocol import reports, topics
from common.protocol.reports import Event
from edge.db import DatabaseGone
from edge.sync.book import Book, Spoken

BATCH = 20
"""Events sent before the first is acknowledged."""
MAX_BODY_BYTES = 48 * 1024
"""Of one event."""
AFTER_REFUSAL_S = 60.0
"""Wait after the broker refused an event: someone has to let the box in again."""
MAX_COUNTED = 1000
"""Different phrases counted in memory; more are not told apart until the next save."""

log = logging.getLogger(__name__)


class Outbox:
    """Events and counts of a box."""

    def __init__(
        self, book: Book, link: Link, chain: str, box: str, now: Callable[[], float]
    ) -> None:
        """Put the parts together.

        Args:
            book: Where events wait.
            link: The way to the broker.
            chain: The box's chain.
            box: Its name.
            now: Seconds since 1970.
        """
        self._book = book
        self._link = link
        self._chain = chain
        self._box = box
        self._now = now
        self._heat: Counter[Spoken] = Counter()
        self._tiers: Counter[str] = Counter()
        self._news = asyncio.Event()

    async def add(self, kind: str, body: Mapping[str, Any]) -> None:
        """Tell the cloud something.

        Args:
            kind: What happened.
            body: Its facts, plain JSON.

        Raises:
            YaoheError: ``invalid_request``: too long, or no plain JSON.
            DatabaseGone: The disk is full or the file is being rebuilt.
        """
        form = Event(life="0", number=0, kind=kind, at=0, body=dict(body))
        if len(reports.encode(form)) > MAX_BODY_BYTES:
            raise YaoheError("invalid_request", f"more than {MAX_BODY_BYTES} bytes")
        await wrap_future(self._book.add_event(kind, int(self._now()), body))
        self._news.set()

    def count(self, spoken: Spoken | None, tier: str) -> None:
        """Count an utterance, in memory; never waits, never fails.

        Args:
            spoken: What was said; None when it has no key.
            tier: Who began to speak.
        """
        self._tiers[tier] += 1
        if spoken is not None and not _is_plain(spoken.text):
            spoken = None
        if spoken is not None and (
            spoken in self._heat or len(self._heat) < MAX_COUNTED
        ):
            self._heat[spoken] += 1

    async def save_counts(self) -> None:
        """Write what was counted in memory; kept in memory if that fails."""
        heat, self._heat = self._heat, Counter()
        tiers, self._tiers = self._tiers, Counter()
        if not heat and not tiers:
            return
        try:
            await wrap_future(self._book.add_counts(heat, tiers))
        except DatabaseGone as error:
            log.warning("counts are not written: %s", error)
            self._heat += heat
            self._tiers += tiers

    async def report_counts(self) -> None:
        """Turn all counts into an event for the cloud."""
        await self.save_counts()
        try:
            if await wrap_future(self._book.report_counts(int(self._now()))):
                self._news.set()
        except DatabaseGone as error:
            log.warning("counts are not reported: %s", error)

    async def send_for_ever(self) -> None:
        """Send what waits, oldest first, whenever there is a connection."""
        while True:
            await self._link.wait_up()
            self._news.clear()
            try:
                batch = self._book.waiting(BATCH)
                if not batch:
                    await self._news.wait()
                    continue
                await self._send(batch)
            except LinkDown:
                continue
            except PublishRefused as refusal:
                log.error("the broker refuses an event: %s", refusal)
                await asyncio.sleep(AFTER_REFUSAL_S)
            except DatabaseGone as error:
                log.warning("events cannot be read: %s", error)
                await asyncio.sleep(1.0)

    async def _send(self, batch: list[Event]) -> None:
        """Send a batch and forget what the broker has, whatever became of the rest."""
        results = await asyncio.gather(
            *(self._publish(event) for event in batch), return_exceptions=True
        )
        sent = [
            event.number
            for event, result in zip(batch, results, strict=True)
            if result is None
        ]
        if sent:
            await wrap_future(self._book.delivered(sent))
        for result in results:
            if result is not None:
                raise result

    async def _publish(self, event: Event) -> None:
        topic = topics.Event(self._chain, self._box, event.number)
        await self._link.publish(str(topic), reports.encode(event))


def _is_plain(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
