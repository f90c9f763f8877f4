"""The line of an enrolled box: what comes is taken in, what happened is told.

Everything that waits for the cloud waits here and nowhere else: the box speaks whether
or not this runs. Who asks the cloud for something waits a random moment first, since
thousands of boxes hear the same news at once.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from common.endings import end, heard
from common.mqtt import Link, LinkDown, LinkOptions, PublishRefused
from common.protocol import topics
from common.protocol.cbor import encode
from common.protocol.repair import Need
from common.text import Lexicon, LexiconFile
from edge.db import DatabaseGone
from edge.sync.book import Book
from edge.sync.catalogue import CatalogueDesk, scopes_of
from edge.sync.events import Spoken
from edge.sync.herald import Herald
from edge.sync.inbox import Inbox
from edge.sync.marks import Marks
from edge.sync.membership import Membership
from edge.sync.outage import Outage
from edge.sync.outbox import Outbox
from edge.sync.parts import Ota
from edge.sync.refusals import Refusals
from edge.sync.renewal import Renewal
from edge.sync.settings import SyncSettings
from edge.sync.shelf import Shelf
from edge.sync.state import Lack, LineState, Why
from edge.sync.trust import TrustDesk
from edge.sync.unmatched import Matching, Unmatched
from edge.sync.web import fetch_late

SHARDS = 16
"""Readers that the cloud may spread boxes over."""
SAVE_COUNTS_S = 60.0
AFTER_FAILURE_S = 5.0
METADATA_FILTERS = 2
"""The first of the filters are those of metadata."""
LOOK_S = 5.0
"""How often it is noticed that the line went down or came up."""
RENEW_S = 3600.0
"""How often the certificate is looked at."""
AGAIN_S = 30.0
"""Seconds after which metadata that did not come is asked for again."""
LACK = "phrases-lacking"
"""Kind of the event that tells why phrases are not kept, once for each reason."""
GATHER_S = 0.2
"""Metadata comes in several messages: wait so long before they are verified."""

log = logging.getLogger(__name__)


class Sync:
    """The line between one box and its cloud."""

    def __init__(
        self,
        membership: Membership,
        settings: SyncSettings,
        data: Path,
        shelf: Shelf | None,
        *,
        ota: Ota | None = None,
        packs: Callable[[], Sequence[str]] = tuple,
        own_words: LexiconFile | None = None,
        cloud: str | None = None,
        wall: Callable[[], float] = time.time,
        options: Callable[[LinkOptions], LinkOptions] = lambda options: options,
    ) -> None:
        """Put the parts together; :meth:`start` begins.

        Args:
            membership: Whose line it is.
            settings: How often and how much.
            data: The box's data folder.
            shelf: Where renditions go; None when nothing is kept.
            ota: Takes packs that come over the line.
            packs: Gives ``name@version`` of the packs at hand.
            own_words: The shop's lexicon.
            cloud: Address of the cloud, which gives what the line does not bring.
            wall: The machine's clock, seconds since 1970.
            options: Changes how the broker is reached.
        """
        told = membership.enrolled
        self._told = told
        self._settings = settings
        self._packs = packs
        self._cloud = cloud
        self._wall = wall
        self._herald = Herald(told.chain, told.box)
        self._ota = ota
        if ota is not None:
            ota.wake = self._ask_soon
        self._shard = zlib.crc32(told.box.encode()) % SHARDS
        self._book = Book(data / "sync.db", settings.max_events)
        self._marks = Marks(self._book, data / "marks.json")
        self._refusals = Refusals()
        self._trust = TrustDesk(
            self._book,
            self._marks,
            data / "trust",
            told.root.encode(),
            self._wall,
            self._refusals,
        )
        self._matching = Matching(shelf, own_words)
        self._desk = CatalogueDesk(
            told.chain,
            scopes_of(told.groups),
            self._book,
            self._trust,
            shelf,
            monotonic=time.monotonic,
            patience_s=settings.tick_s,
        )
        self._link = Link(
            options(
                LinkOptions(
                    host=told.broker_host,
                    port=told.broker_port,
                    client=told.box,
                    tls=lambda: membership.tls(
                        trust_clock=not self._trust.is_clock_suspect
                    ),
                )
            ),
            filters=self._filters(),
            farewell=self._herald.farewell,
            on_up=self._came_up,
        )
        self._outage = Outage(self._link, self.now)
        self._outbox = Outbox(
            self._book.events, self._link, told.chain, told.box, self.now
        )
        self._renewal = Renewal(membership, self.now)
        self._wake = asyncio.Event()
        self._metadata_came = asyncio.Event()
        self._inbox = Inbox(
            self._link,
            trust=self._trust,
            desk=self._desk,
            outbox=self._outbox,
            renewal=self._renewal,
            ota=ota,
            refusals=self._refusals,
            metadata_came=self._metadata_came.set,
            ask_soon=self._ask_soon,
        )
        self._say_state = asyncio.Event()
        self._told_why: Why = ""
        self._tasks: list[asyncio.Task[None]] = []

    def now(self) -> float:
        """Seconds since 1970, never before the latest time that was signed for."""
        return max(self._wall(), float(self._trust.floor_s))

    def count(self, spoken: Spoken | None, tier: str) -> None:
        """Count an utterance; never waits, never fails.

        Args:
            spoken: What was said; None when it has no key.
            tier: Who began to speak.
        """
        self._outbox.count(spoken, tier)

    async def tell(self, kind: str, body: dict[str, Any]) -> None:
        """Put an event in line for the cloud.

        Args:
            kind: What happened.
            body: Its facts, plain JSON.
        """
        await self._outbox.add(kind, body)

    def state(self) -> LineState:
        """What a person wants to know about the line."""
        try:
            waiting, dropped = self._book.events.count_waiting()
            lack = self._desk.lack
        except DatabaseGone:
            waiting, dropped, lack = 0, 0, Lack(0, "closed")
        outage = self._outage.look()
        return LineState(
            box=self._told.box,
            chain=self._told.chain,
            is_up=self._link.is_up,
            last_error=outage.error,
            last_error_at=outage.since_s,
            catalogue=self._desk.numbers,
            is_current=self._desk.is_known and lack == Lack(),
            lacking=lack.phrases,
            lacking_why=lack.why,
            waiting=waiting,
            dropped=dropped,
            is_rebuilt=self._book.store.rebuilt > 0,
            refusal=self._trust.refusal,
            is_clock_suspect=self._trust.is_clock_suspect,
        )

    def unmatched(self, beneath: Lexicon) -> Unmatched:
        """Phrases at hand that this box reads otherwise; takes a while.

        Args:
            beneath: The packs' words.
        """
        return self._matching.look(beneath)

    def start(self) -> None:
        """Begin; returns at once, whatever the network is like."""
        self._tasks = [asyncio.create_task(self._again(self._run), name="line")]

    async def stop(self) -> None:
        """Save what was counted, say goodbye, close the file."""
        await end(self._tasks)
        await self._outbox.save_counts()
        await self._link.stop()
        await asyncio.to_thread(self._book.close)

    async def _run(self) -> None:
        """Open the book, then do everything at once."""
        await asyncio.to_thread(self._book.open)
        await self._say_if_rebuilt(await asyncio.to_thread(self._marks.restore))
        self._trust.load()
        self._desk.load()
        await self._refresh()
        self._link.start()
        works: list[Coroutine[Any, Any, None]] = [
            self._again(self._inbox.read),
            self._again(self._outbox.send_for_ever),
            self._every(self._ask, self._settings.tick_s, self._wake),
            self._every(self._report_state, self._settings.state_s, self._say_state),
            self._every(self._outbox.save_counts, SAVE_COUNTS_S),
            self._every(self._outbox.report_counts, self._settings.report_s),
            self._every(self._refresh, None, self._metadata_came),
            self._every(self._hear_again, AGAIN_S),
            self._every(self._fetch_late, self._settings.tick_s),
            self._every(self._renew, RENEW_S),
            self._every(self._look, LOOK_S),
        ]
        await asyncio.gather(*works)

    async def _say_if_rebuilt(self, has_marks: bool) -> None:
        """Tell people and the cloud when the memory of the line was lost."""
        if not self._book.store.rebuilt:
            return
        what = "kept" if has_marks else "lost"
        log.error("the line's memory was damaged: events lost, trust marks %s", what)
        with suppress(DatabaseGone):
            await self._outbox.add("memory-lost", {"marks": what})

    async def _again(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that does not end, and begin again when it fails."""
        while True:
            try:
                await work()
            except Exception:
                log.exception("a part of the line failed; it begins again")
            await asyncio.sleep(AFTER_FAILURE_S)

    async def _every(
        self,
        work: Callable[[], Awaitable[None]],
        period_s: float | None,
        sooner: asyncio.Event | None = None,
    ) -> None:
        """Do something again and again, with jitter, and sooner when there is news."""
        news = sooner or asyncio.Event()
        while True:
            jitter = random.uniform(0.5, 1.0)  # noqa: S311 - nothing to guess here
            pause = None if period_s is None else period_s * jitter
            await heard(news, pause)
            news.clear()
            try:
                await work()
            except (LinkDown, PublishRefused, DatabaseGone) as error:
                log.info("the line waits: %s", error)
            except Exception:
                log.exception("a part of the line failed; it goes on")

    async def _refresh(self) -> None:
        await asyncio.sleep(GATHER_S)
        if await self._trust.refresh() and self._trust.trusted is not None:
            await self._desk.take_waiting_heads()
            if self._ota is not None:
                await self._ota.trust_changed(self._trust.trusted)
            self._ask_soon()

    async def _hear_again(self) -> None:
        """Subscribe once more where metadata is lacking: the broker repeats it."""
        if self._trust.is_lacking and self._link.is_up:
            for topic in self._filters()[:METADATA_FILTERS]:
                await self._link.subscribe(topic)

    async def _fetch_late(self) -> None:
        if self._cloud is not None:
            await fetch_late(self._desk, self._cloud, is_line_up=self._link.is_up)

    async def _look(self) -> None:
        """Notice what nobody tells: an outage, refusals that nothing followed."""
        self._outage.look()
        self._refusals.settle()

    async def _renew(self) -> None:
        """Ask for the next certificate when it is time."""
        if self._link.is_up and await asyncio.to_thread(self._renewal.is_due):
            request = await asyncio.to_thread(self._renewal.request)
            topic = topics.Need(self._told.chain, self._shard, self._told.box)
            await self._link.publish(str(topic), encode(Need(request=request)))

    def _ask_soon(self) -> None:
        """Ask after a random moment: thousands of boxes hear the same news at once."""
        delay = random.uniform(0, self._settings.tick_s / 5)  # noqa: S311 - jitter
        asyncio.get_running_loop().call_later(delay, self._wake.set)

    async def _ask(self) -> None:
        await self._desk.reconcile()
        if not self._link.is_up:
            return
        needs = self._desk.questions()
        if self._ota is not None:
            needs += await self._ota.questions()
        topic = str(topics.Need(self._told.chain, self._shard, self._told.box))
        for need in needs:
            await self._link.publish(topic, encode(need))

    async def _report_state(self) -> None:
        if not self._link.is_up:
            return
        lack = self._desk.lack
        topic, content = self._herald.state(
            at_s=self.now(),
            is_clock_suspect=self._trust.is_clock_suspect,
            packs=self._packs(),
            phrases=len(self._book.held()),
            catalogue=self._desk.numbers,
            events=self._book.events.count_waiting(),
            lack=lack,
        )
        await self._link.publish(topic, content, retain=True)
        await self._report_lack(lack)

    async def _report_lack(self, lack: Lack) -> None:
        """Tell the cloud when phrases begin to lack for good, and when they do not."""
        if lack.why == "coming":
            lack = Lack()
        if lack.why != self._told_why:
            await self._outbox.add(LACK, lack._asdict())
            self._told_why = lack.why

    def _came_up(self) -> None:
        self._outbox.came_up()
        self._say_state.set()
        self._ask_soon()

    def _filters(self) -> list[str]:
        chain, box = self._told.chain, self._told.box
        some = topics.ANY
        scopes = [scope.split("/") for scope in scopes_of(self._told.groups)]
        levels = [
            ("tuf", "timestamp"),
            ("tuf", some, some),
            ("e", box, "cmd"),
            ("e", box, "in", some, some),
            *(("cat", *scope, some) for scope in scopes),
            *(("job", *scope) for scope in scopes),
        ]
        return [topics.subscription(chain, *each) for each in levels]
