"""A link that stays: connections one after the other, with jittered pauses between.

Rules of this module:

* A message is acknowledged by whoever read it, after its commit; what was not comes
  again. So delivery is at least once, and readers apply idempotently.
* :meth:`Link.publish` returns when the broker has the message, or raises; the link
  keeps no backlog, since what must not be lost lies on its owner's disk.
* Every connection asks for its own birth and will, so that their session numbers rise
  and an old will never beats a new birth.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from common.endings import end
from common.mqtt.connection import Connection, Received
from common.mqtt.options import (
    MAX_UNDELIVERED,
    Farewell,
    LinkDown,
    LinkOptions,
    PublishRefused,
)

MAX_DOUBLINGS = 16
"""The back-off stops doubling here, lest the number grow without bound."""

log = logging.getLogger(__name__)


class Delivery(NamedTuple):
    """A message and its way back.

    Attributes:
        topic: Its address.
        payload: Its bytes.
        retained: Whether it is the broker's memory rather than news.
        ack: Call it when the message is done with, on the event loop.
    """

    topic: str
    payload: bytes
    retained: bool
    ack: Callable[[], None]


class Link:
    """A lasting connection to one broker.

    Attributes:
        connections: Connections that came up since the start.
        last_error: Why the newest connection ended or failed.
    """

    def __init__(
        self,
        options: LinkOptions,
        *,
        filters: Sequence[str] = (),
        farewell: Callable[[], Awaitable[Farewell]] | None = None,
        on_up: Callable[[], None] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Prepare; :meth:`start` begins.

        Args:
            options: Where to, and as whom.
            filters: Topic filters that every connection subscribes to.
            farewell: Asked for birth and will before every connection.
            on_up: Called when a connection is subscribed and its birth is said.
            chance: Where jitter comes from.
        """
        self.connections = 0
        self.last_error = "not started"
        self._options = options
        self._filters = list(filters)
        self._farewell = farewell
        self._on_up = on_up
        self._chance = chance or random.SystemRandom()
        self._connection: Connection | None = None
        self._inbox: asyncio.Queue[Delivery] = asyncio.Queue()
        self._up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """Whether messages go through now."""
        return self._up.is_set()

    def start(self) -> None:
        """Begin to connect."""
        if self._task is None:
            self._task = asyncio.create_task(self._stay(), name="mqtt-link")

    async def stop(self) -> None:
        """Say goodbye and leave."""
        if self._task is None:
            return
        await end([self._task])
        self._task = None

    async def wait_up(self) -> None:
        """Wait until messages go through."""
        await self._up.wait()

    async def receive(self) -> Delivery:
        """Wait for the next message."""
        return await self._inbox.get()

    def receive_now(self) -> Delivery | None:
        """The next message if one is here already."""
        return None if self._inbox.empty() else self._inbox.get_nowait()

    async def publish(
        self, topic: str, payload: bytes, *, retain: bool = False
    ) -> None:
        """Send a message and wait until the broker has it.

        Args:
            topic: Its address.
            payload: Its bytes.
            retain: Whether the broker remembers it for later subscribers.

        Raises:
            LinkDown: There is no connection, or it broke; send again later.
            PublishRefused: The broker will never take it from us.
        """
        connection = self._current()
        try:
            await connection.publish(topic, payload, retain=retain)
        except LinkDown:
            if connection.is_over and connection is self._connection:
                # Whoever waits for the link now must not find it up.
                self._up.clear()
            raise

    async def subscribe(self, topic: str) -> None:
        """Ask for a filter's messages, now and after every reconnect.

        Args:
            topic: A topic filter.
        """
        if topic not in self._filters:
            self._filters.append(topic)
        if self._connection is not None and self.is_up:
            with suppress(LinkDown):
                await self._connection.subscribe(topic)

    def _current(self) -> Connection:
        if self._connection is None or not self.is_up:
            raise LinkDown(self.last_error)
        return self._connection

    async def _stay(self) -> None:
        """Connect for ever; a short-lived connection counts as a failure."""
        failures = 0
        while True:
            began = time.monotonic()
            try:
                self.last_error = await self._live_once()
            except Exception as error:
                self.last_error = str(error) or type(error).__name__
                if not isinstance(error, LinkDown):
                    log.exception("the link failed in an unknown way")
            lived = time.monotonic() - began
            failures = 1 if lived >= self._options.stable_s else failures + 1
            pause = self._pause_s(failures)
            log.info(
                "link down: %s; again in %.1f s",
                self.last_error,
                pause,
                extra={"broker": f"{self._options.host}:{self._options.port}"},
            )
            await asyncio.sleep(pause)

    def _pause_s(self, failures: int) -> float:
        """Full jitter: anything from nothing to a bound that doubles."""
        doublings = min(failures - 1, MAX_DOUBLINGS)
        bound = self._options.backoff_first_s * float(2**doublings)
        return self._chance.uniform(0.0, min(bound, self._options.backoff_max_s))

    async def _live_once(self) -> str:
        """One connection from birth to end; says why it ended."""
        farewell = await self._farewell() if self._farewell else None
        connection = Connection(self._options, farewell, self._take)
        try:
            await connection.open()
            for topic in list(self._filters):
                try:
                    await connection.subscribe(topic)
                except PublishRefused as refusal:
                    log.error("not subscribed to %s: %s", topic, refusal)
            if farewell is not None:
                await connection.publish(farewell.topic, farewell.birth, retain=True)
            self._connection = connection
            self.connections += 1
            self._up.set()
            log.info("link up", extra={"client": self._options.client})
            if self._on_up is not None:
                self._on_up()
            return await connection.ended()
        except asyncio.CancelledError:
            if farewell is not None:
                await self._say_goodbye(connection, farewell)
            raise
        finally:
            self._up.clear()
            self._connection = None
            await connection.close()

    async def _say_goodbye(self, connection: Connection, farewell: Farewell) -> None:
        """A broker forgets the will of whoever leaves in order: say it ourselves."""
        with suppress(LinkDown, PublishRefused, asyncio.TimeoutError):
            await asyncio.wait_for(
                connection.publish(farewell.topic, farewell.will, retain=True),
                self._options.connect_timeout_s,
            )

    def _take(self, connection: Connection, received: Received) -> None:
        """Queue a message for its reader."""
        if received.qos == 0 and self._inbox.qsize() >= MAX_UNDELIVERED:
            return
        self._inbox.put_nowait(
            Delivery(
                received.topic,
                received.payload,
                received.retained,
                partial(connection.acknowledge, received),
            )
        )
