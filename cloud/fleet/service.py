"""The fleet as a service: hears every box, answers each, publishes what is new.

Rules of this module:

* A message of a box is acknowledged when its transaction is on the disk; many
  messages share one. Of events the box itself is told, since the broker may forget
  what it acknowledged.
* The broker's retained messages are a courtesy and no database: with each connection
  everything is published again, and boxes ask for what they miss.
* What another process writes into the database (the command line) is noticed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from cloud.fleet.ear import Ear
from cloud.fleet.office import Office
from cloud.fleet.ranking import Ranking
from cloud.fleet.rendering import Renderer, Speak, Wishes
from cloud.spare import Spare
from common.endings import end
from common.errors import YaoheError
from common.mqtt import Delivery, Link, LinkDown, LinkOptions, PublishRefused
from common.protocol import reports, topics
from common.protocol.catalogue import Log
from common.protocol.cbor import decode, encode
from common.protocol.repair import (
    CHUNK_BYTES,
    MAX_LIVES,
    Heard,
    Need,
    Reply,
    Wanted,
)
from common.text import LexiconFile

BATCH = 200
"""Messages of one transaction."""
LOOK_S = 0.5
"""How often the database is looked at for what others wrote."""
AFTER_FAILURE_S = 2.0
RANK_S = 60.0
RENEW_S = 3600.0
MAX_ANSWER_CHUNKS = 64
"""Chunks sent for one message of a box; it asks again for the rest."""
MAX_BUSY_BOXES = 256
"""Boxes answered at the same time; others ask again."""

log = logging.getLogger(__name__)


class Kept(NamedTuple):
    """What follows from a batch that is on the disk.

    Attributes:
        needs: What boxes need.
        heard: What boxes may forget, by box and life.
    """

    needs: list[tuple[str, Need]]
    heard: dict[tuple[str, str], Heard]


class Fleet:
    """The fleet's side of the line.

    Attributes:
        office: What is kept about the chain.
        wishes: Phrases that somebody wants.
    """

    def __init__(
        self,
        office: Office,
        speak: Speak,
        *,
        lexicon: LexiconFile | None = None,
        spare: Spare | None = None,
        options: Callable[[LinkOptions], LinkOptions] = lambda options: options,
    ) -> None:
        """Put the parts together; :meth:`start` begins.

        Args:
            office: What is kept about the chain.
            speak: Speaks a request; the cloud's dispatch.
            lexicon: The words that it is read with.
            spare: Speaks with an engine of symbols where that one may be wrong.
            options: Changes how the broker is reached.
        """
        self.office = office
        self.wishes = Wishes(office.db)
        self._ranking = Ranking(office.db, self.wishes, lexicon=lexicon)
        judge = office.settings.judge
        self._ear = Ear.of(judge, office.folder / "judge") if judge else None
        self._spare = spare
        self._renderer = Renderer(
            self.wishes,
            office.catalogue,
            speak,
            hear=self._ear.hear if self._ear else None,
            spare=spare.speak if spare else None,
        )
        some = topics.ANY
        boxes = (some, "e", some)
        self._link = Link(
            options(office.link_options()),
            filters=[
                topics.subscription(*boxes, "birth"),
                topics.subscription(*boxes, "state"),
                topics.subscription(*boxes, "ev", some),
                topics.subscription(some, "need", some, some),
            ],
            on_up=self._came_up,
        )
        self._chain = office.settings.chain
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._said: dict[str, bytes] = {}
        self._reached: dict[str, tuple[int, int]] = {}
        self._heard: dict[tuple[str, str], Heard] = {}
        self._has_heard = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_up(self) -> bool:
        """Whether the broker is reached."""
        return self._link.is_up

    def start(self) -> None:
        """Begin; returns at once, whether or not there is a broker."""
        works: tuple[Coroutine[Any, Any, None], ...] = (
            self._hear(),
            self._tell_heard(),
            self._every(self._publish, LOOK_S),
            self._every(self._render, LOOK_S),
            self._every(self._rank, RANK_S),
            self._every(self._renew, RENEW_S),
        )
        self._tasks = [asyncio.create_task(work) for work in works]
        self._link.start()

    async def stop(self) -> None:
        """Stop hearing and answering."""
        await end([*self._tasks, *self._answering.values()])
        await self._link.stop()
        if self._ear is not None:
            await self._ear.stop()
        if self._spare is not None:
            await self._spare.stop()

    async def _every(
        self, work: Callable[[], Awaitable[None]], period_s: float
    ) -> None:
        while True:
            try:
                await work()
            except (LinkDown, PublishRefused) as error:
                log.info("the fleet waits for the broker: %s", error)
            except YaoheError as error:
                log.warning("the fleet waits: %s", error.message)
            except Exception:
                log.exception("a part of the fleet's service failed; it goes on")
            await asyncio.sleep(period_s)

    async def _hear(self) -> None:
        """Take in what boxes say, many messages in one transaction."""
        while True:
            batch = [await self._link.receive()]
            while len(batch) < BATCH and (more := self._link.receive_now()):
                batch.append(more)
            kept = await self._kept(batch)
            for delivery in batch:
                delivery.ack()
            for box, need in kept.needs:
                self._answer_soon(box, need)
            self._heard.update(kept.heard)
            self._has_heard.set()

    async def _kept(self, batch: list[Delivery]) -> Kept:
        """Keep a batch, however long the disk refuses."""
        while True:
            try:
                return await asyncio.to_thread(self._take, batch)
            except Exception:
                log.exception("reports cannot be kept; tried again")
                await asyncio.sleep(AFTER_FAILURE_S)

    def _take(self, batch: list[Delivery]) -> Kept:
        """Keep a batch."""
        needs: list[tuple[str, Need]] = []
        heard: dict[tuple[str, str], Heard] = {}
        boxes = self.office.boxes
        with self.office.db.change() as db:
            for delivery in batch:
                try:
                    topic = topics.parse(delivery.topic)
                    content = delivery.payload
                    if topic.chain != self._chain or not content:
                        continue
                    if isinstance(topic, topics.Birth):
                        birth = reports.decode(reports.Birth, content)
                        boxes.take_birth(db, topic.box, birth)
                    elif isinstance(topic, topics.State):
                        state = reports.decode(reports.State, content)
                        boxes.take_state(db, topic.box, state)
                    elif isinstance(topic, topics.Event):
                        event = reports.decode(reports.Event, content)
                        is_news, upto = self.office.events.take(db, topic.box, event)
                        heard[topic.box, event.life] = upto
                        if is_news:
                            self._ranking.take(db, topic.box, event)
                    elif isinstance(topic, topics.Need):
                        needs.append((topic.box, decode(Need, content)))
                except YaoheError as error:
                    log.warning("%s is refused: %s", delivery.topic, error.message)
        return Kept(needs, heard)

    async def _tell_heard(self) -> None:
        """Tell boxes what they may forget; who does not hear it sends again."""
        while True:
            await self._has_heard.wait()
            self._has_heard.clear()
            told, self._heard = self._heard, {}
            by_box: dict[str, list[Heard]] = {}
            for (box, _), heard in told.items():
                by_box.setdefault(box, []).append(heard)
            sent = (self._acknowledge(box, each) for box, each in by_box.items())
            for result in await asyncio.gather(*sent, return_exceptions=True):
                if isinstance(result, BaseException):
                    log.info("a box is not told what was heard: %s", result)

    async def _acknowledge(self, box: str, heard: list[Heard]) -> None:
        topic = str(topics.Command(self._chain, box))
        reply = Reply(heard=heard[:MAX_LIVES])
        await self._link.publish(topic, encode(reply))

    def _answer_soon(self, box: str, need: Need) -> None:
        """Answer a box, one question at a time; who is not answered asks again."""
        if box in self._answering or len(self._answering) >= MAX_BUSY_BOXES:
            return
        task = asyncio.create_task(self._answer(box, need))
        self._answering[box] = task
        task.add_done_callback(lambda _: self._answering.pop(box, None))

    async def _answer(self, box: str, need: Need) -> None:
        try:
            if need.scope is not None:
                replies = await asyncio.to_thread(self._replies, need.scope, need)
                topic = str(topics.Command(self._chain, box))
                for reply in replies:
                    await self._link.publish(topic, encode(reply))
            if need.request is not None:
                boxes = self.office.boxes
                renewed = await asyncio.to_thread(boxes.renew, box, need.request)
                topic = str(topics.Command(self._chain, box))
                await self._link.publish(topic, encode(Reply(certificate=renewed)))
            for wanted in need.blobs:
                with suppress(YaoheError):
                    await self._send_chunks(box, wanted)
        except (LinkDown, PublishRefused) as error:
            log.info("box %s is not answered: %s", box, error)
        except YaoheError as error:
            log.warning("box %s is not answered: %s", box, error.message)

    def _replies(self, scope: str, need: Need) -> list[Reply]:
        catalogue = self.office.catalogue
        if need.since is not None:
            logs = catalogue.log(scope, need.since)
            return [Reply(scope=scope, log=encode(log)) for log in logs]
        if need.buckets is not None:
            return list(catalogue.difference(scope, need.buckets))
        return []

    async def _send_chunks(self, box: str, wanted: Wanted) -> None:
        digest = wanted.sha256.hex()
        last = min(wanted.last, wanted.first + MAX_ANSWER_CHUNKS - 1)
        for index in range(wanted.first, last + 1):
            chunk = await asyncio.to_thread(self.office.blobs.chunk, digest, index)
            topic = topics.Inbox(self._chain, box, digest, index)
            await self._link.publish(str(topic), chunk)
            if len(chunk) < CHUNK_BYTES:
                return

    async def _publish(self) -> None:
        """Publish metadata and heads that are new, or all after a new connection."""
        if not self._link.is_up or not self.office.repository.is_founded:
            return
        files = await asyncio.to_thread(lambda: list(self.office.repository.files()))
        for name, content in files:
            await self._say(str(_metadata_topic(self._chain, name)), content)
        for scope in await asyncio.to_thread(self.office.catalogue.scopes):
            published = await asyncio.to_thread(self.office.catalogue.published, scope)
            head = published.head
            epoch, seq = self._reached.get(scope, (0, 0))
            if epoch == head.epoch and seq < head.seq:
                await self._broadcast_log(scope, seq)
            self._reached[scope] = (head.epoch, head.seq)
            await self._say(str(topics.Head(self._chain, scope)), published.envelope)

        for scope, envelope in (await asyncio.to_thread(self.office.jobs.all)).items():
            await self._say(str(topics.Job(self._chain, scope)), envelope)

    async def _broadcast_log(self, scope: str, since: int) -> None:
        """Send changes to all before the head that names them."""
        logs: list[Log] = await asyncio.to_thread(
            lambda: list(self.office.catalogue.log(scope, since))
        )
        for each in logs:
            await self._link.publish(str(topics.Log(self._chain, scope)), encode(each))

    async def _say(self, topic: str, content: bytes) -> None:
        """Publish retained, once for each connection and content."""
        if self._said.get(topic) != content:
            await self._link.publish(topic, content, retain=True)
            self._said[topic] = content

    async def _render(self) -> None:
        while await self._renderer.render_next():
            pass

    async def _rank(self) -> None:
        await asyncio.to_thread(self._ranking.wish)
        await asyncio.to_thread(self._ranking.forget_old)
        await asyncio.to_thread(self.office.events.forget_old)
        for scope in await asyncio.to_thread(self.office.catalogue.scopes):
            await asyncio.to_thread(self.office.catalogue.compact, scope)
        await asyncio.to_thread(self.office.catalogue.collect)

    async def _renew(self) -> None:
        await asyncio.to_thread(self.office.boxes.forget_expired)
        if self.office.repository.is_founded:
            await asyncio.to_thread(self.office.repository.renew)

    def _came_up(self) -> None:
        self._said.clear()


def _metadata_topic(chain: str, name: str) -> topics.Topic:
    """The address of a metadata file."""
    if name == "timestamp.json":
        return topics.Timestamp(chain)
    version, role, _ = name.split(".")
    return topics.Metadata(chain, role, int(version))
