"""The box's packs as a service: what is on its way goes on, what is new speaks.

Rules of this module:

* One update at a time, each step on a worker thread; the event loop never waits for a
  disk.
* Everything can be done again: after a restart, a full disk or a line that was cut, the
  same step is taken from where the ledger says.
* What another process commits (the command line) is noticed and speaks too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from common.errors import YaoheError
from common.protocol.repair import Need
from common.voice.bases import Bases
from edge.db import DatabaseGone
from edge.ota.depot import Depot
from edge.ota.download import Part
from edge.ota.ledger import Ledger, Update
from edge.ota.receiver import Receiver
from edge.ota.refusal import Refused
from edge.ota.slots import Slots, Speaking
from edge.ota.trial import try_out
from edge.ota.updater import Candidate, TryOut, Updater
from edge.ota.web import TIMEOUT_S, fetch_range

LOOK_S = 2.0
"""How often an update is looked after, and the ledger for what others did."""
HTTP_AFTER_S = 20.0
"""Seconds without a chunk over the line, after which HTTP is tried."""
IDLE_S = 30.0
"""Seconds without a chunk after which others get their turn: another update, another
process."""
CANCEL_AGAIN_S = 0.2
REST_MAX_S = 300.0
"""Longest rest after a turn that brought nothing; it doubles with each."""

Tell = Callable[[str, dict[str, Any]], Awaitable[None]]

log = logging.getLogger(__name__)


class Ota:
    """The packs that come to a box.

    Attributes:
        wake: Called when there is something to ask the cloud for.
        tell: Tells the cloud what became of a pack; None while there is no line.
    """

    def __init__(
        self,
        data: Path,
        *,
        cloud: str | None = None,
        look_s: float = LOOK_S,
        http_after_s: float = HTTP_AFTER_S,
        hear: TryOut = try_out,
        own: Sequence[Path] = (),
    ) -> None:
        """Put the parts together; nothing is loaded yet.

        Args:
            data: The box's data folder.
            cloud: Address of the cloud, for what the line does not bring.
            look_s: Seconds between two looks.
            http_after_s: Seconds without a chunk after which HTTP is tried.
            hear: Loads a pack and hears it.
            own: Packs of the box that did not come this way.
        """
        self.wake: Callable[[], None] = lambda: None
        self.tell: Tell | None = None
        self._ledger = Ledger(data / "ota.db")
        self._updater = Updater(self._ledger, Depot(data / "packs"), hear, own)
        self._slots = Slots(self._ledger, self._updater.depot, self._updater.bases)
        self._cloud = cloud
        self._look_s = look_s
        self._http_after_s = http_after_s
        self._receiver = Receiver(self._updater)
        self._turn = 0
        self._rest_s = look_s
        self._disk = asyncio.Lock()
        self._news = asyncio.Event()
        self._generation = -1
        self._switch: Callable[[Speaking], None] = lambda _: None
        self._task: asyncio.Task[None] | None = None

    def load(self) -> Speaking:
        """Load the packs in use; blocks. A ledger that cannot be read gives none."""
        try:
            self._ledger.wait_open()
            self._generation = self._ledger.generation()
            return self._slots.load()
        except DatabaseGone as error:
            log.error("the packs of this box are not known: %s", error)
            return {}

    @property
    def bases(self) -> Bases:
        """Loads packs, and what dialect packs stand on."""
        return self._updater.bases

    @property
    def refusals(self) -> Mapping[str, str]:
        """Why packs in use could not be loaded, by manifest."""
        return dict(self._slots.refusals)

    def start(self, switch: Callable[[Speaking], None]) -> None:
        """Begin to look after updates.

        Args:
            switch: Called on the event loop with the packs in use whenever they change.
        """
        self._switch = switch
        self._task = asyncio.create_task(self._run(), name="packs")

    async def stop(self) -> None:
        """Stop looking; what is half done goes on after the next start."""
        # A wait that ends in the moment of its cancelling swallows it: cancel again.
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CANCEL_AGAIN_S)
        async with self._disk:
            self._receiver.close()
        await asyncio.to_thread(self._ledger.close)

    async def offer(self, candidate: Candidate) -> None:
        """Take an offer of a pack whose origin is checked.

        Args:
            candidate: The pack.

        Raises:
            Refused: It failed before, or a newer version was in use here.
            DatabaseGone: It cannot be noted now.
        """
        async with self._disk:
            await asyncio.to_thread(self._updater.offer, candidate)
        self._news.set()

    def updates(self) -> list[Update]:
        """All updates, the newest last."""
        try:
            return self._ledger.all()
        except DatabaseGone:
            return []

    def question(self) -> Need | None:
        """What to ask the cloud for now, if anything."""
        return self._receiver.question()

    async def take_chunk(self, digest: str, index: int, chunk: bytes) -> bool:
        """Take a chunk that came over the line.

        Args:
            digest: Its blob.
            index: Its number.
            chunk: Its bytes.

        Returns:
            Whether the blob is one of ours.
        """
        async with self._disk:
            if digest not in self._receiver.parts:
                return False
            self._rest_s = self._look_s
            try:
                is_complete = await asyncio.to_thread(
                    self._receiver.take, digest, index, chunk
                )
            except (OSError, DatabaseGone) as error:
                log.warning("a chunk is not kept: %s", error)
                return True
        if is_complete:
            self._news.set()
        elif self._receiver.is_low:
            self.wake()
        return True

    async def _run(self) -> None:
        while True:
            try:
                await self._look()
            except (DatabaseGone, OSError) as error:
                log.warning("packs wait: %s", error)
            except YaoheError as error:
                log.info("packs wait: %s", error.message)
            except Exception:
                log.exception("packs wait for a mistake of ours")
            await self._sleep(self._rest_s)

    async def _sleep(self, seconds: float) -> None:
        """Sleep until there is news, or so long."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
        self._news.clear()

    async def _look(self) -> None:
        """Switch if others switched, then take a turn at an update."""
        await self._switch_if_changed()
        if not await asyncio.to_thread(self._ledger.open):
            self._rest_s = self._look_s
            return
        self._turn += 1
        self._rest_s = min(2 * self._rest_s, REST_MAX_S)
        with self._updater.depot.lock():
            try:
                await self._take_turn()
            finally:
                async with self._disk:
                    self._receiver.close()

    async def _take_turn(self) -> None:
        """Go on with updates while anything comes of it."""
        self._receiver.begin_turn()
        while updates := await asyncio.to_thread(self._ledger.open):
            await self._advance(updates[self._turn % len(updates)])
            await self._switch_if_changed()
            if self._receiver.parts:
                await self._wait_for_chunks()
            if self._receiver.idle_s > IDLE_S:
                return

    async def _wait_for_chunks(self) -> None:
        self.wake()
        await self._sleep(self._look_s)
        if self._receiver.idle_s > self._http_after_s:
            await self._fetch_over_http()

    async def _advance(self, update: Update) -> None:
        """Take an update's next step; a refusal ends it."""
        try:
            async with self._disk:
                self._receiver.check_faults()
                if self._receiver.parts:
                    return
                missing = await asyncio.to_thread(self._missing, update)
                if missing:
                    await asyncio.to_thread(self._receiver.open, missing)
                    return
                if update.state == "offered":
                    return
                now = await asyncio.to_thread(self._ledger.find, update.manifest)
            loaded = await asyncio.to_thread(self._updater.finish, now or update)
            self._slots.take(update.manifest, loaded)
            await self._report(update, "committed", "")
        except Refused as refusal:
            async with self._disk:
                self._receiver.close()
                self._receiver.forget_faults()
                await asyncio.to_thread(self._updater.refuse, update, refusal)
            await self._report(update, "rolled_back", refusal.reason)

    def _missing(self, update: Update) -> Mapping[str, int]:
        """Blobs to fetch before the next step; its admission is done on the way."""
        updater = self._updater
        if update.state in ("staged", "trial"):
            return {}
        if update.state == "offered" and not updater.depot.has(
            update.manifest, update.size
        ):
            return {update.manifest: update.size}
        if update.state in ("offered", "admitted"):
            missing = updater.admit(update)
        else:
            missing = updater.missing(updater.manifest(update))
        if missing:
            self._ledger.move(update.manifest, "receiving")
        return missing

    async def _fetch_over_http(self) -> None:
        """Ask the cloud itself for what the line does not bring."""
        if self._cloud is None:
            return
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
            for part in list(self._receiver.parts.values()):

                async def take(index: int, chunk: bytes, part: Part = part) -> None:
                    await self.take_chunk(part.sha256, index, chunk)

                while part.missing and part.sha256 in self._receiver.parts:
                    before = len(part.missing)
                    await fetch_range(
                        *(client, self._cloud, (part.sha256, part.size)),
                        *(part.first_gap, take),
                    )
                    if len(part.missing) >= before:
                        break

    async def _switch_if_changed(self) -> None:
        generation = await asyncio.to_thread(self._ledger.generation)
        if generation != self._generation:
            speaking = await asyncio.to_thread(self._slots.load)
            self._generation = generation
            self._switch(speaking)

    async def _report(self, update: Update, state: str, reason: str) -> None:
        if self.tell is None:
            return
        body = {"pack": update.label, "manifest": update.manifest, "state": state}
        try:
            await self.tell("pack", body | {"reason": reason})
        except DatabaseGone as error:
            log.warning("the cloud is not told of %s: %s", update.label, error)
