"""A signed pack from the cloud's folder to a speaking box, by the real broker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cloud.fleet.packs import FleetPacks
from distill import signing
from edge.ota.desk import OtaDesk
from edge.ota.service import Ota
from edge.ota.slots import Speaking
from edge.sync.service import Sync
from edge.sync.settings import SyncSettings
from tests.lines import Box, Line, fast, until
from tests.unit.ota.tinypack import make_pack

pytestmark = pytest.mark.broker
MAN = ("man", "zh")


class PackBox:
    """An enrolled box that takes packs."""

    def __init__(self, line: Line, name: str) -> None:
        self.box = Box(line.folder / name, line.office)
        self.speaking: Speaking = {}

    def start(self) -> PackBox:
        data = self.box.data
        self.ota = Ota(data, look_s=0.2)
        self.speaking = self.ota.load()
        self.sync = Sync(
            self.box.membership,
            SyncSettings(tick_s=0.5, state_s=0.5, report_s=0.5),
            data,
            None,
            ota=OtaDesk("tea", self.ota),
            packs=lambda: list(self.names.values()),
            options=fast,
        )
        self.ota.tell = self.sync.tell
        self.sync.start()
        self.ota.start(self._switch)
        return self

    async def stop(self) -> None:
        await self.sync.stop()
        await self.ota.stop()

    @property
    def names(self) -> dict[tuple[str, str], str]:
        return {pair: pack.name for pair, pack in self.speaking.items()}

    def _switch(self, speaking: Speaking) -> None:
        self.speaking = speaking


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    signing.keygen(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.fixture
async def line(
    tmp_path: Path, keys: Path, free_port: Callable[[], int]
) -> AsyncIterator[Line]:
    line = Line(tmp_path, keys, free_port())
    line.broker.start()
    yield line
    await line.stop()


def publish(line: Line, keys: Path, version: str) -> None:
    """Sign a pack offline, take the metadata up, and want it everywhere."""
    folder = make_pack(line.folder / f"hum-{version}", version)
    signing.sign_pack(folder, keys)
    line.office.repository.found(keys)
    office = line.office
    packs = FleetPacks(office.jobs, office.blobs, office.repository, "tea")
    packs.want("all", packs.publish(folder))


async def test_pack_travels_to_the_boxes_and_newer_ones_take_over(
    line: Line, keys: Path
) -> None:
    line.start_fleet()
    one = PackBox(line, "shop-1").start()
    publish(line, keys, "1.0.0")
    await until(lambda: one.names == {MAN: "hum@1.0.0"})

    # One that comes late hears of it by the broker's memory, and of the cloud's return.
    await line.stop_fleet()
    publish(line, keys, "1.1.0")
    two = PackBox(line, "shop-2").start()
    line.start_fleet()
    for box in (one, two):
        await until(lambda box=box: box.names == {MAN: "hum@1.1.0"})  # type: ignore[misc]

    # Restarted without cloud or broker it speaks with what it has.
    await one.stop()
    await line.stop_fleet()
    line.broker.stop(kill=True)
    one.start()
    assert one.names == {MAN: "hum@1.1.0"}

    # Everybody returns: the cloud hears what became of the packs, once.
    line.broker.start()
    line.start_fleet()

    def heard() -> list[tuple[str, str, str]]:
        rows = line.office.db.read("SELECT box, body FROM events WHERE kind = 'pack'")
        told = [(row["box"], json.loads(row["body"])) for row in rows]
        return [(box, body["pack"], body["state"]) for box, body in told]

    expected = {
        ("shop-1", "hum@1.0.0", "committed"),
        *((shop, "hum@1.1.0", "committed") for shop in ("shop-1", "shop-2")),
    }
    await until(lambda: expected <= set(heard()))
    assert len(heard()) == len(set(heard()))
    await until(
        lambda: all(
            list(row.packs) == ["hum@1.1.0"] for row in line.office.boxes.list()
        )
    )
    await one.stop()
    await two.stop()
