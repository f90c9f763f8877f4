"""A cloud and a box with a line between them that tests may spoil; no broker."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cloud.fleet.office import Office
from cloud.fleet.packs import FleetPacks
from cloud.fleet.settings import FleetSettings
from common.protocol.job import Offer
from common.trust.updater import Trusted, TrustUpdater
from distill import signing
from edge.ota.desk import OtaDesk
from edge.ota.ledger import Update
from edge.ota.service import Ota
from edge.ota.slots import Speaking
from tests.unit.ota.tinypack import make_dialect, make_pack, manifest_name

PATIENCE_S = 60.0
SCOPE = "all"

Chunk = tuple[str, int, bytes]


class Marks:
    """High-water marks in memory."""

    def __init__(self) -> None:
        self.marks: dict[str, int] = {}

    def versions(self) -> Mapping[str, int]:
        return dict(self.marks)

    def raise_to(self, versions: Mapping[str, int]) -> None:
        self.marks.update(versions)


class Cloud:
    """The chain's keys and its cloud's office."""

    def __init__(self, folder: Path, keys: Path) -> None:
        self.folder, self.keys = folder, keys
        self.office = Office(folder / "cloud", FleetSettings(chain="tea"))
        self.office.repository.found(keys)
        self.packs = FleetPacks(
            self.office.jobs, self.office.blobs, self.office.repository, "tea"
        )

    def make(self, version: str = "1.0.0", **options: Any) -> Path:
        """A signed pack that the cloud's metadata knows."""
        name = options.get("name", "hum")
        make_one = make_dialect if "base" in options else make_pack
        folder = make_one(
            self.folder / "made" / f"{name}-{version}", version, **options
        )
        self.sign(folder)
        return folder

    def sign(self, folder: Path) -> None:
        signing.sign_pack(folder, self.keys)
        number = signing.newest(self.keys, "targets").signed.version
        path = self.keys / "metadata" / f"{number}.targets.json"
        self.office.repository.take_targets(path)
        self.office.repository.renew()

    def publish(self, folder: Path, scope: str = SCOPE) -> Offer:
        offer = self.packs.publish(folder)
        self.packs.want(scope, offer)
        return offer

    def job(self, scope: str = SCOPE) -> bytes:
        return self.office.jobs.all()[scope]

    def metadata(self, name: str) -> bytes | None:
        """The source that a box's trust reads from."""
        return dict(self.office.repository.files()).get(name)


class Box:
    """A box's packs and what it trusts."""

    def __init__(self, data: Path, cloud: Cloud) -> None:
        self.data, self.cloud = data, cloud
        self.bootstrap = cloud.office.repository.root()
        self.marks = Marks()
        self.wall: Callable[[], float] = time.time
        self.options: dict[str, Any] = {}

    def start(self) -> Box:
        self.ota = Ota(self.data, **({"look_s": 0.05} | self.options))
        self.desk = OtaDesk("tea", self.ota)
        self.asks = 0
        self.told: list[dict[str, Any]] = []
        self.speaking: Speaking = self.ota.load()

        async def tell(kind: str, body: dict[str, Any]) -> None:
            assert kind == "pack"
            self.told.append(body)

        self.ota.tell = tell
        self.ota.start(self._switch)
        return self

    def trusted(self) -> Trusted:
        updater = TrustUpdater(
            self.data / "trust", self.bootstrap, self.cloud, self.marks
        )
        return updater.refresh(self.wall(), 0)

    async def stop(self) -> None:
        await self.ota.stop()

    @property
    def names(self) -> dict[tuple[str, str], str]:
        return {pair: pack.name for pair, pack in self.speaking.items()}

    def update(self, folder: Path) -> Update | None:
        name = manifest_name(folder)
        found = [u for u in self.ota.updates() if u.manifest == name]
        return found[0] if found else None

    def _switch(self, speaking: Speaking) -> None:
        self.speaking = speaking


async def pump(
    box: Box,
    until: Callable[[], Any],
    spoil: Callable[[list[Chunk]], list[Chunk]] = lambda chunks: chunks,
    limit: int | None = None,
) -> None:
    """Answer what the box asks for until something holds, or some chunks were sent."""
    deadline, sent = time.monotonic() + PATIENCE_S, 0
    while not until():
        assert time.monotonic() < deadline, box.ota.updates()
        for need in await box.desk.questions():
            box.asks += 1
            chunks = [
                (
                    wanted.sha256.hex(),
                    i,
                    box.cloud.office.blobs.chunk(wanted.sha256.hex(), i),
                )
                for wanted in need.blobs
                for i in range(wanted.first, wanted.last + 1)
            ]
            for chunk in spoil(chunks):
                if limit is not None and sent >= limit:
                    return
                assert await box.desk.take_chunk(*chunk) in (True, False)
                sent += 1
        await asyncio.sleep(0.01)


def shuffled(chunks: list[Chunk]) -> list[Chunk]:
    """Swapped, each of them twice."""
    twice = chunks * 2
    random.Random(len(chunks)).shuffle(twice)
    return twice
