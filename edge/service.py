"""The box: where its parts are put together, started and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from common.audio.containers import available_formats
from common.audio.opus import decode, encode_master
from common.audio.provenance import AigcLabel
from common.errors import YaoheError
from common.phrase import phrase_key
from common.protocol.synthesis import DEFAULT_DIALECT, DEFAULT_VOICE, SpeechRequest
from common.receipts import ReceiptBook
from common.speech import Speech
from common.text import LexiconFile, read
from common.voice.bases import Bases, among
from edge.account import Account
from edge.cache import Cache
from edge.clock import SAVE_EVERY_S, Clock
from edge.clock import migrations as state_migrations
from edge.cloud_client import CloudClient
from edge.cloud_stream import CloudStream
from edge.db import Store
from edge.hot import Hot
from edge.keeper import Keeper
from edge.metrics import EdgeMetrics
from edge.ota.joining import desk_of
from edge.ota.keys import trusted_keyring
from edge.ota.service import Ota
from edge.ota.slots import Speaking
from edge.packs import (
    LoadedPack,
    Packs,
    load,
    load_dialects,
    load_starter,
    own_directories,
)
from edge.policy import Policy
from edge.readings import Readings
from edge.settings import EdgeSettings
from edge.stage import Stage
from edge.sync.events import Spoken
from edge.sync.joining import join, spoken

HOUSEKEEPING_S = 5.0
"""How often counted plays are written."""
OPEN_TIMEOUT_S = 2.0
"""How long a command waits for the cache; the server never waits."""
RETRY_WHILE_LOADING_S = 1
WARM_UP = "12月1日8:30起，VIP会员85折，草莓每斤9.9元，长期有效。"
"""Touches numbers, dates, letters and words of several readings."""

log = logging.getLogger(__name__)


class Service:
    """A box that speaks.

    Attributes:
        settings: What it was told.
        metrics: What it counts.
        clock: Its time.
        cache: What it said before; None when nothing is kept.
        receipts: What was read lately, and why.
        hot: What plays all the time, in memory.
        stage: Where its voices speak.
        readings: Texts whose reading it remembers.
        packs: Its voices; empty until they are loaded.
        failure: Why no voice could be loaded, if none could.
        started: When it was put together, monotonic seconds.
        tiers: Utterances begun by each tier.
        line: The line to the cloud of an enrolled box; None without one.
        ota: Packs that are installed; None where the voices were given.
        desk: Takes packs that come over the line; None without one.
    """

    def __init__(
        self,
        settings: EdgeSettings,
        *,
        packs: Packs | None = None,
        cloud: CloudStream | None = None,
        keeps: bool = True,
        connects: bool = False,
    ) -> None:
        """Put the parts together; nothing is loaded yet.

        Args:
            settings: What the box was told.
            packs: Loaded voices; by default the settings name them.
            cloud: The way to a cloud, if there is one.
            keeps: Whether what is spoken is kept.
            connects: Whether an enrolled box keeps a line to its cloud.
        """
        self.settings = settings
        self.metrics = EdgeMetrics()
        self._state = Store(settings.data / "state.db", state_migrations)
        self.clock = Clock(self._state)
        self.cache = _cache(settings, self.clock) if keeps else None
        self._keeper = Keeper(self.cache, self.metrics) if self.cache else None
        self.receipts = ReceiptBook()
        self.stage = Stage(
            workers=settings.synthesis.workers,
            queue=settings.synthesis.queue,
            ahead_s=settings.synthesis.ahead_s,
            keep_s=settings.cache.max_rendition_s,
        )
        self.hot = Hot(settings.cache.hot_bytes)
        own = settings.lexicon
        self.readings = Readings(
            settings.cache.readings, LexiconFile(own) if own is not None else None
        )
        self.failure: str | None = None
        self.started = time.monotonic()
        self.tiers: Counter[str] = Counter()
        url = settings.cloud.url
        # One that was made here is started and stopped here.
        self._link = (
            CloudClient(url, probe_s=settings.cloud.probe_s)
            if cloud is None and url and settings.policy.mode != "local"
            else None
        )
        self._cloud = cloud or self._link
        self._given = packs
        self._loaded = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.packs = packs or Packs((), None)
        self._connects = connects
        self.ota = (
            Ota(
                settings.data,
                cloud=settings.cloud.url,
                own=own_directories(settings.pack),
            )
            if keeps and packs is None
            else None
        )
        self.desk = desk_of(self.ota, settings.data) if connects else None
        self.line = (
            join(
                settings,
                self.cache,
                lambda: [p.name for p in self.packs.loaded],
                self.desk,
            )
            if connects
            else None
        )
        self._policy = self._make_policy()

    @property
    def is_ready(self) -> bool:
        """Whether a voice is loaded and the cache has been looked at.

        Requests need not wait for it: they are answered without the cache meanwhile.
        """
        is_settled = self.cache is None or self.cache.store.is_settled
        return self._loaded.is_set() and self.failure is None and is_settled

    @property
    def cloud(self) -> CloudClient | None:
        """The cloud that may speak for this box, if the settings name one."""
        return self._link

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """Voices that can be asked for, and the dialects that each speaks."""
        return self._policy.repertoire

    async def start(self) -> None:
        """Begin to load; requests may come at once and wait for the voice."""
        if self._link is not None:
            self._link.start()
        self._tasks = [
            asyncio.create_task(self._load()),
            asyncio.create_task(self._keep_house()),
        ]
        if self.line is not None:
            self.line.start()

    async def loaded(self) -> None:
        """Wait until the voices are loaded, or could not be."""
        await self._loaded.wait()

    async def speak(self, request: SpeechRequest, utterance: str) -> Speech:
        """Speak a request, count it and keep its receipt.

        Args:
            request: A checked request.
            utterance: Its id.

        Returns:
            Speech whose first sound is there; whoever takes its chunks closes them.

        Raises:
            YaoheError: Why there is no sound.
        """
        await self._loaded.wait()
        speech = await self._policy.speak(request, utterance)
        self.receipts.keep(Account.of(speech))
        self.tiers[speech.tier] += 1
        if self.line is not None:
            self.line.count(await self._told(request, speech), speech.tier)
        self.metrics.utterances.labels(speech.tier).inc()
        waited_ms = speech.first_audio_ms or 0.0
        self.metrics.first_audio.labels(speech.tier).observe(waited_ms / 1000)
        log.info(
            "spoken",
            extra={
                "utterance": utterance,
                "tier": speech.tier,
                "reason": speech.reason,
                "first_audio_ms": round(waited_ms, 1),
            },
        )
        return speech

    async def _told(self, request: SpeechRequest, speech: Speech) -> Spoken | None:
        """What the cloud hears of an utterance; None for what it cannot render.

        It renders in advance what it reads from the text alone.
        """
        if request.ssml or request.context:
            return None
        receipt = speech.receipt
        if not receipt.reading.symbols:
            # The cloud spoke, and its symbols stay there: the key is of our own.
            own = await self.readings.read(request.input, receipt.reading.dialect)
            receipt = replace(receipt, reading=own.reading)
        own_words = receipt.reading.lexicon_sha256
        return spoken(request, replace(speech, receipt=receipt), own_words)

    def exposition(self) -> bytes:
        """All numbers of the box in Prometheus' text format."""
        metrics, stage = self.metrics, self.stage
        metrics.ready.set(self.is_ready)
        metrics.active.set(stage.active)
        metrics.synthesis_seconds.set(stage.busy_s)
        metrics.synthesised_seconds.set(stage.made_s)
        if self.cache is not None:
            stats = self.cache.stats()
            metrics.renditions.set(stats.renditions)
            metrics.cache_bytes.set(stats.size_bytes)
            metrics.rebuilt.set(stats.rebuilt)
            metrics.evicted.set(self.cache.evicted)
        return metrics.exposition()

    async def stop(self) -> None:
        """Stop what runs, write what was counted, close the files."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._link is not None:
            await self._link.stop()
        if self.line is not None:
            await self.line.stop()
        if self.ota is not None:
            await self.ota.stop()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self.stage.close()
        if self._keeper is not None:
            self._keeper.close()
        if self.cache is not None:
            self.cache.close()
        self.clock.save()
        self._state.close()

    async def _load(self) -> None:
        """Load voices and warm everything up; a failure shows in the health."""
        try:
            if self._given is None:
                self.packs = await asyncio.to_thread(self._load_packs)
                self._policy = self._make_policy()
            self.readings.use(self.packs.lexicon)
            spoken = {one for each in self.packs.loaded for one in each.voice.dialects}
            await asyncio.to_thread(_warm_up, spoken | {DEFAULT_DIALECT})
            self.clock.load()
        except YaoheError as error:
            self.failure = error.message
            log.error("no voice can be loaded: %s", error.message)
        finally:
            self._loaded.set()
        if self.ota is not None and self._connects:
            self.ota.tell = self.line.tell if self.line else None
            self.ota.start(self._switch)

    def _load_packs(self) -> Packs:
        """Load what is installed, and the box's own packs beneath it."""
        came = self.ota.load() if self.ota else {}
        own = own_directories(self.settings.pack)
        bases = self.ota.bases if self.ota else Bases(among(own))
        try:
            return _load_packs(self.settings, bases).switched(came)
        except YaoheError:
            if not came:
                raise
            log.exception("the starter pack cannot be used")
            return Packs((), None, came)

    def _switch(self, came: Speaking) -> None:
        """Let other packs speak from the next utterance on."""
        self.packs = self.packs.switched(came)
        self.readings.use(self.packs.lexicon)
        self._policy = self._make_policy()
        log.info("packs in use: %s", ", ".join(p.name for p in self.packs.loaded))

    async def _keep_house(self) -> None:
        since_saved = 0.0
        while True:
            await asyncio.sleep(HOUSEKEEPING_S)
            if self.cache is not None:
                self.cache.flush_plays()
            since_saved += HOUSEKEEPING_S
            if since_saved >= SAVE_EVERY_S:
                since_saved = 0.0
                self.clock.save()

    def _make_policy(self) -> Policy:
        label = self.settings.label
        return Policy(
            packs=self.packs,
            cache=self.cache,
            keeper=self._keeper,
            hot=self.hot,
            stage=self.stage,
            readings=self.readings,
            settings=self.settings.policy,
            label=AigcLabel(producer=label.producer, propagator=label.propagator),
            cloud=self._cloud,
            count_takeover=lambda tier: self.metrics.takeovers.labels(tier).inc(),
        )


def _cache(settings: EdgeSettings, clock: Clock) -> Cache:
    return Cache(
        settings.data / "cache.db",
        budget_bytes=settings.cache.budget_bytes,
        min_free_bytes=settings.cache.min_free_bytes,
        now=clock.now,
    )


def _warm_up(dialects: Iterable[str]) -> None:
    """Load dictionaries and libraries that the first caller would wait for."""
    for dialect in dialects:
        symbols = read(WARM_UP, dialect).symbols
        phrase_key(symbols, voice=DEFAULT_VOICE, dialect=dialect)
    available_formats()
    try:
        decode(encode_master(np.zeros(480, np.float32)))
    except YaoheError as error:
        log.error("%s; nothing is kept", error.message)


def _load_packs(settings: EdgeSettings, bases: Bases) -> Packs:
    """Load the starter packs and the active one; a bad active pack is passed over."""
    packs: list[LoadedPack] = []
    if settings.pack is not None:
        try:
            keyring = trusted_keyring(settings.data)
            active = load(settings.pack, bases, is_trusted=False, keyring=keyring)
            packs.append(active)
        except YaoheError as error:
            log.error("the active pack cannot be used: %s", error.message)
    try:
        starter = load_starter(bases)
    except YaoheError:
        if not packs:
            raise
        log.exception("the starter pack cannot be used")
        return Packs(packs, None)
    return Packs([*packs, starter], starter, dialects=load_dialects(bases))
