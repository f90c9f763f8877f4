"""A whole line for tests: office, broker, fleet and enrolled boxes, all real.

Only the voice is a stand-in: a hum that is as long as the text.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from cloud.fleet.office import Office
from cloud.fleet.service import Fleet
from cloud.fleet.settings import FleetSettings
from common.audio.pcm import SAMPLE_RATE
from common.audio.provenance import Provenance
from common.mqtt import LinkOptions
from common.protocol import reports
from common.protocol.synthesis import SpeechRequest
from common.speech import Speech, Whole
from common.text import RULES_VERSION, read
from common.text.receipt import Receipt
from common.text.symbols import TABLE_VERSION
from edge.cache import Cache
from edge.sync.membership import enrol
from edge.sync.service import Sync
from edge.sync.settings import SyncSettings
from edge.sync.shelf import Shelf
from tests.brokers import Mosquitto

PATIENCE_S = 45.0
BUDGET = 64 << 20


def fast(options: LinkOptions) -> LinkOptions:
    """Reconnect at once: tests have no thousand neighbours."""
    return dataclasses.replace(options, backoff_first_s=0.1, backoff_max_s=0.4)


async def hum(request: SpeechRequest, utterance: str) -> Speech:
    """Speak like an engine of symbols that can only hum."""
    reading = read(request.input, request.dialect)
    samples = SAMPLE_RATE // 10 * max(1, len(reading.symbols))
    wave = 0.2 * np.sin(np.arange(samples, dtype=np.float32) * 0.05)
    return Speech(
        utterance,
        Receipt(utterance, reading, True),
        tier="cloud",
        reason="hummed",
        provenance=Provenance(
            "hum", table_version=TABLE_VERSION, rules_version=RULES_VERSION
        ),
        whole=Whole(samples / SAMPLE_RATE, pcm=wave.astype(np.float32)),
    )


async def until(holds: Callable[[], Any], what: str = "") -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what or "it never came to hold"
        await asyncio.sleep(0.05)


class Box:
    """One enrolled box."""

    def __init__(self, data: Path, office: Office) -> None:
        self.data = data
        self.membership = enrol(
            str(office.boxes.invite(data.name)),
            "http://cloud",
            data,
            client=_through(office),
        )
        self.wall: Callable[[], float] = time.time
        self.cloud: str | None = None
        self.sync: Sync | None = None

    def start(self) -> Box:
        self.cache = Cache(
            self.data / "cache.db", budget_bytes=BUDGET, min_free_bytes=0, now=time.time
        )
        self.cache.store.wait_settled(PATIENCE_S)
        self.sync = Sync(
            self.membership,
            SyncSettings(tick_s=0.5, state_s=0.5, report_s=0.5),
            self.data,
            Shelf(self.cache, BUDGET),
            packs=lambda: ["starter@1.0.0"],
            cloud=self.cloud,
            wall=lambda: self.wall(),
            options=fast,
        )
        self.sync.start()
        return self

    async def stop(self) -> None:
        if self.sync is not None:
            await self.sync.stop()
            self.cache.close()
            self.sync = None

    def keys(self) -> set[str]:
        """Phrases of the cloud that this box can play."""
        rows = self.cache.store.read(
            "SELECT phrase_key FROM renditions WHERE origin = 'cloud' AND verified"
        )
        return {row["phrase_key"] for row in rows}


class Line:
    """One chain on loopback."""

    def __init__(self, folder: Path, chain_keys: Path, port: int) -> None:
        self.folder = folder
        settings = FleetSettings(chain="tea", broker_port=port)
        self.office = Office(folder / "cloud", settings)
        self.office.repository.found(chain_keys)
        self.broker = Mosquitto(self.office.prepare_broker(), port)
        self.fleet: Fleet | None = None
        self.boxes: list[Box] = []

    def box(self, name: str) -> Box:
        box = Box(self.folder / name, self.office)
        self.boxes.append(box)
        return box

    def start_fleet(self) -> Fleet:
        self.fleet = Fleet(self.office, hum, options=fast)
        self.fleet.start()
        return self.fleet

    async def stop_fleet(self) -> None:
        if self.fleet is not None:
            await self.fleet.stop()
            self.fleet = None

    async def stop(self) -> None:
        for box in self.boxes:
            await box.stop()
        await self.stop_fleet()
        self.broker.stop()

    def wanted(self) -> set[str]:
        """Phrases that every box should have."""
        return {row.key for row in self.office.catalogue.phrases()}

    async def phrase(self, text: str) -> str:
        """Wish for a phrase and wait until it is in the catalogue; gives its key."""
        assert self.fleet is not None
        wishes = self.fleet.wishes
        number = wishes.add(text)
        await until(lambda: wishes.find(number).state != "waiting", "nobody renders")
        wish = wishes.find(number)
        assert wish.key is not None, wish.error
        return wish.key

    async def converged(self) -> None:
        """Wait until every running box has what it should have, and no more."""
        for box in self.boxes:
            if box.sync is not None:
                await until(partial(self._has_all, box), f"{box.data.name} lacks some")

    def _has_all(self, box: Box) -> bool:
        return box.keys() == self.wanted()


def _through(office: Office) -> httpx.Client:
    """A client whose cloud is an office, without a socket between."""

    def answer(request: httpx.Request) -> httpx.Response:
        asked = reports.decode(reports.EnrolRequest, request.content)
        return httpx.Response(200, content=reports.encode(office.enrol(asked)))

    return httpx.Client(transport=httpx.MockTransport(answer))
