"""Two boxes with one name, and a broker that drops messages: it comes right again."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from cloud.fleet import broker, service
from common.mqtt import Farewell, Link, LinkOptions
from distill import signing
from edge.sync.herald import Herald
from edge.sync.membership import load_membership
from tests import lines
from tests.lines import Box, Line, until

pytestmark = pytest.mark.broker
TEXTS = ["今日特价", "第12桌请取餐", "买一送一", "欢迎光临"]
QUEUED = 20
"""Messages that the broker keeps for a box that is away."""
MISSED = 40
"""Phrases that pass in the meantime; each is a change and a head."""
TAKEOVERS = 5
"""Times that each of two boxes with one name is thrown out."""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    signing.keygen(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.fixture
async def line(
    tmp_path: Path,
    keys: Path,
    free_port: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Line]:
    monkeypatch.setattr(broker, "QUEUED_MESSAGES", QUEUED)
    line = Line(tmp_path, keys, free_port())
    line.broker.start()
    yield line
    await line.stop()


class Twin(Box):
    """A box made from a copy of another's disk, as shops clone a memory card."""

    def __init__(self, box: Box, name: str) -> None:
        self.data = box.data.with_name(name)
        shutil.copytree(box.data, self.data)
        membership = load_membership(self.data)
        assert membership is not None
        self.membership = membership
        self.wall = box.wall
        self.cloud = box.cloud
        self.sync = None


def link_of(box: Box) -> Link:
    assert box.sync is not None
    return box.sync._link


def boot_of(box: Box) -> str:
    assert box.sync is not None
    return box.sync._herald._boot


def view(line: Line) -> tuple[bool, str]:
    """Whether the fleet thinks that the box is up, and since which boot."""
    (row,) = line.office.db.read("SELECT up, boot FROM boxes")
    return bool(row["up"]), row["boot"]


async def heard_of(line: Line, box: Box, count: int) -> None:
    """Tell the cloud something; what was sent before has arrived when this has."""
    assert box.sync is not None
    await box.sync.tell("after", {})
    asked = "SELECT 1 FROM events WHERE kind = 'after'"
    await until(lambda: len(line.office.db.read(asked)) == count)


@pytest.mark.slow
async def test_two_boxes_with_one_name_take_over_ever_more_rarely_and_both_speak(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: dict[Link, list[int]] = defaultdict(list)
    pause_s = Link._pause_s

    def noted(link: Link, count: int) -> float:
        failures[link].append(count)
        return pause_s(link, count)

    def patient(options: LinkOptions) -> LinkOptions:
        return dataclasses.replace(options, backoff_first_s=0.1, backoff_max_s=4.0)

    said: list[Farewell] = []
    farewell = Herald.farewell

    async def heard(herald: Herald) -> Farewell:
        said.append(await farewell(herald))
        return said[-1]

    monkeypatch.setattr(Herald, "farewell", heard)
    monkeypatch.setattr(Link, "_pause_s", noted)
    monkeypatch.setattr(lines, "fast", patient)
    line.start_fleet()
    one = line.box("shop-1")
    two = Twin(one, "twin")
    line.boxes.append(two)
    one.start()
    two.start()
    both = [link_of(one), link_of(two)]
    await line.phrase(TEXTS[0])
    await until(lambda: all(len(failures[link]) >= TAKEOVERS for link in both))
    for link in both:
        # A connection that was kicked never begins the count anew.
        assert failures[link] == list(range(1, len(failures[link]) + 1))
        assert link.connections <= len(failures[link]) + 1

    # Both can play what the cloud sent, whoever was connected then.
    key = await line.phrase(TEXTS[1])
    await line.converged()
    for box in (one, two):
        assert box.cache.best(key, pack_sha256="") is not None

    # The fleet shows the newest session, and what older ones say late is nothing.
    await two.stop()
    newest = boot_of(one)
    await until(lambda: link_of(one).is_up and view(line) == (True, newest))
    old = [each for each in said if each is not said[-1]]
    assert json.loads(said[-1].birth)["boot"] == newest
    assert {json.loads(each.will)["boot"] for each in old} > {newest}
    for each in old:
        await link_of(one).publish(each.topic, each.will, retain=True)
    await heard_of(line, one, 1)
    assert view(line) == (True, newest)

    # Nor does the cloud believe it when it hears the broker's memory anew.
    await line.stop_fleet()
    line.start_fleet()
    await heard_of(line, one, 2)
    assert view(line) == (True, newest)


@pytest.mark.slow
async def test_box_whose_queue_overflowed_comes_to_the_same_root(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LOOK_S", 0.05)
    line.start_fleet()
    box = line.box("shop-1").start()
    first = await line.phrase(TEXTS[0])
    await line.converged()
    await box.stop()
    for number in range(MISSED):
        await line.phrase(f"第{number}桌请取餐")
        await asyncio.sleep(0.1)
    line.office.catalogue.remove("all", bytes.fromhex(first))
    await until(lambda: "being dropped for client shop-1" in line.broker.log())

    box.start()
    await line.converged()
    head = line.office.catalogue.published("all").head
    sync = box.sync
    assert sync is not None
    await until(lambda: sync.state().catalogue.get("all") == head.seq)
    await until(lambda: sync.state().is_current)
    assert sync._book.replica("all")._root == head.root
    rows = box.cache.store.read(
        "SELECT phrase_key, count(*) AS n FROM renditions WHERE origin = 'cloud' "
        "GROUP BY phrase_key"
    )
    assert [row["n"] for row in rows] == [1] * MISSED
    await until(lambda: line.office.boxes.list()[0].phrases == MISSED)
