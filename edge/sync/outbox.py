"""What the cloud shall know: events and counts, on the disk until the cloud has them.

Rules of this module:

* The broker's acknowledgement means nothing: a broker that is killed forgets what it
  has not written. An event stays here until the cloud itself says that it is committed.
* At least once, in order, each with its number; the cloud counts a number once.
* What is unacknowledged is sent again after a reconnect, when the cloud comes back, and
  after a wait that doubles.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from asyncio import wrap_future
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from common.endings import heard
from common.errors import YaoheError
from common.mqtt import Link, LinkDown, PublishRefused
from common.protocol import reports, topics
from common.protocol.repair import Heard
from common.protocol.reports import Event
from edge.db import DatabaseGone
from edge.sync.events import EventLog, Spoken

WINDOW = 50
"""Events on their way: sent, and not yet acknowledged by the cloud."""
AGAIN_S = 30.0
"""First wait for the cloud before the window is sent again; it doubles with each."""
MAX_AGAIN_S = 900.0
SPREAD_S = 5.0
"""After the cloud came back its boxes send again, spread over so many seconds."""
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
        self,
        events: EventLog,
        link: Link,
        chain: str,
        box: str,
        now: Callable[[], float],
    ) -> None:
        """Put the parts together.

        Args:
            events: Where they wait.
            link: The way to the broker.
            chain: The box's chain.
            box: Its name.
            now: Seconds since 1970.
        """
        self._events = events
        self._link = link
        self._chain = chain
        self._box = box
        self._now = now
        self._heat: Counter[Spoken] = Counter()
        self._tiers: Counter[str] = Counter()
        self._news = asyncio.Event()
        self._sent = 0
        self._round = 0
        self._again_s = AGAIN_S
        self._due_s = 0.0

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
        content = reports.encode(form)
        if len(content) > MAX_BODY_BYTES:
            raise YaoheError("invalid_request", f"more than {MAX_BODY_BYTES} bytes")
        # What the cloud cannot read would be sent for ever.
        reports.decode(Event, content)
        await wrap_future(self._events.add(kind, int(self._now()), body))
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
            await wrap_future(self._events.add_counts(heat, tiers))
        except DatabaseGone as error:
            log.warning("counts are not written: %s", error)
            self._heat += heat
            self._tiers += tiers

    async def report_counts(self) -> None:
        """Turn all counts into an event for the cloud."""
        await self.save_counts()
        try:
            if await wrap_future(self._events.report_counts(int(self._now()))):
                self._news.set()
        except DatabaseGone as error:
            log.warning("counts are not reported: %s", error)

    async def acknowledged(self, told: Sequence[Heard]) -> None:
        """Forget what the cloud has.

        Args:
            told: What it says, about this box's lives and perhaps a copy's.

        Raises:
            DatabaseGone: It cannot be noted; the cloud will say it again.
        """
        if await wrap_future(self._events.heard(told)):
            self._again_s = AGAIN_S
            self._wait_anew()
            self._news.set()

    def came_up(self) -> None:
        """Send again on a new connection: the old broker may have forgotten."""
        self._sent = 0
        self._round += 1
        self._news.set()

    def cloud_came_back(self) -> None:
        """Send again a little later: the cloud may have missed what went before."""
        delay = random.uniform(0.0, SPREAD_S)  # noqa: S311 - spreads boxes in time
        asyncio.get_running_loop().call_later(delay, self.came_up)

    async def send_for_ever(self) -> None:
        """Send what waits, oldest first, whenever there is a connection."""
        while True:
            await self._link.wait_up()
            self._news.clear()
            try:
                waiting = self._events.waiting(WINDOW)
                fresh = [event for event in waiting if event.number > self._sent]
                if fresh:
                    await self._send(fresh)
                    continue
                pause_s = self._due_s - time.monotonic() if waiting else None
                if not await heard(self._news, pause_s):
                    self._again_s = min(2 * self._again_s, MAX_AGAIN_S)
                    self._sent = 0
            except LinkDown:
                continue
            except PublishRefused as refusal:
                log.error("the broker refuses an event: %s", refusal)
                await asyncio.sleep(AFTER_REFUSAL_S)
            except DatabaseGone as error:
                log.warning("events cannot be read: %s", error)
                await asyncio.sleep(1.0)

    async def _send(self, events: list[Event]) -> None:
        """Send events, all at once; only the cloud's word removes them."""
        begun = self._round
        results = await asyncio.gather(
            *(self._publish(event) for event in events), return_exceptions=True
        )
        for result in results:
            if result is not None:
                raise result
        self._wait_anew()
        if begun == self._round:
            self._sent = events[-1].number

    def _wait_anew(self) -> None:
        """Give the cloud time to answer; jitter spreads boxes."""
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - nothing to guess here
        self._due_s = time.monotonic() + self._again_s * jitter

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
