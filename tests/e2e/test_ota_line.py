"""A signed pack from the cloud's folder to a speaking box, by the real broker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cloud.fleet.packs import FleetPacks
from common.protocol.repair import CHUNK_BYTES
from distill import signing
from edge.ota.desk import OtaDesk
from edge.ota.download import Part
from edge.ota.service import Ota
from edge.ota.slots import Speaking
from edge.sync.service import Sync
from edge.sync.settings import SyncSettings
from tests.lines import Box, Line, fast, until
from tests.unit.ota.tinypack import PADDING_BYTES, make_pack

pytestmark = pytest.mark.broker
MAN = ("man", "zh")
CHUNKS = 120
"""Of a pack that is long enough to be cut off: several times what is asked for at once."""
CUT_AFTER = 40
"""Chunks after which the broker dies."""


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


def publish(line: Line, keys: Path, version: str, padding: int = PADDING_BYTES) -> None:
    """Sign a pack offline, take the metadata up, and want it everywhere."""
    folder = make_pack(line.folder / f"hum-{version}", version, padding=padding)
    signing.sign_pack(folder, keys)
    line.office.repository.found(keys)
    office = line.office
    packs = FleetPacks(office.jobs, office.blobs, office.repository, "tea")
    packs.want("all", packs.publish(folder))


def heard(line: Line) -> list[tuple[str, str, str]]:
    """What the cloud was told of packs: box, pack, what became of it."""
    rows = line.office.db.read("SELECT box, body FROM events WHERE kind = 'pack'")
    told = [(row["box"], json.loads(row["body"])) for row in rows]
    return [(box, body["pack"], body["state"]) for box, body in told]


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
    expected = {
        ("shop-1", "hum@1.0.0", "committed"),
        *((shop, "hum@1.1.0", "committed") for shop in ("shop-1", "shop-2")),
    }
    await until(lambda: expected <= set(heard(line)))
    assert len(heard(line)) == len(set(heard(line)))
    await until(
        lambda: all(
            list(row.packs) == ["hum@1.1.0"] for row in line.office.boxes.list()
        )
    )
    await one.stop()
    await two.stop()


@pytest.mark.slow
async def test_pack_goes_on_where_it_was_when_the_broker_died(
    line: Line, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, int]] = []
    write = Part.write

    def cut_off(part: Part, index: int, chunk: bytes) -> bool:
        is_new = write(part, index, chunk)
        if is_new:
            written.append((part.sha256, index))
        if len(written) == CUT_AFTER and line.broker.process is not None:
            line.broker.stop(kill=True)
        return is_new

    monkeypatch.setattr(Part, "write", cut_off)
    line.start_fleet()
    box = PackBox(line, "shop-1").start()
    publish(line, keys, "1.0.0", CHUNKS * CHUNK_BYTES)
    await until(lambda: line.broker.process is None)
    await until(lambda: not box.sync.state().is_up)
    assert len(written) < CHUNKS
    assert not box.names
    line.broker.start()
    await until(lambda: box.names == {MAN: "hum@1.0.0"})
    # What had come was kept: no chunk was taken a second time.
    assert len(written) == len(set(written)) >= CHUNKS
    await until(lambda: heard(line) == [("shop-1", "hum@1.0.0", "committed")])
    await box.stop()
