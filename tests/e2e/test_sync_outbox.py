"""Counts and events arrive exactly once, whatever broker, cloud and disks go through."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from common.mqtt import Link
from common.protocol.reports import Event
from distill import signing
from edge.sync import outbox
from edge.sync.membership import load_membership
from edge.sync.outbox import WINDOW, Outbox
from tests import lines
from tests.lines import Box, Line, until

pytestmark = pytest.mark.broker
QUEUED = 1000
OUTAGE_S = 600.0
HASTE = 60.0
"""Virtual seconds in a real one."""


@pytest.fixture
async def line(
    tmp_path: Path, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Line]:
    monkeypatch.setattr(outbox, "SPREAD_S", 0.2)
    signing.keygen(tmp_path / "keys")
    line = Line(tmp_path, tmp_path / "keys", free_port())
    line.broker.start()
    yield line
    await line.stop()


def parts(box: Box) -> tuple[Link, Outbox]:
    assert box.sync is not None
    return box.sync._link, box.sync._outbox


def is_up(box: Box) -> bool:
    return box.sync is not None and box.sync.state().is_up


async def tell(box: Box, numbers: range) -> None:
    assert box.sync is not None
    await asyncio.gather(*(box.sync.tell("door", {"n": n}) for n in numbers))


def doors(line: Line) -> Counter[int]:
    """How often each event was counted."""
    rows = line.office.db.read(
        "SELECT json_extract(body, '$.n') AS n FROM events WHERE kind = 'door'"
    )
    return Counter(row["n"] for row in rows)


async def all_once(line: Line, box: Box, numbers: range) -> None:
    sync = box.sync
    assert sync is not None
    await until(lambda: len(doors(line)) == len(numbers), "events are missing")
    await until(lambda: sync.state().waiting == 0, "the box keeps what arrived")
    assert doors(line) == Counter(numbers)


class Hasty:
    """Makes the running loop's clock go faster, and as fast as others again."""

    def __init__(self) -> None:
        self.loop = cast(Any, asyncio.get_running_loop())
        self._speed = 1.0
        self._at = self._told = time.monotonic()
        self._select = self.loop._selector.select
        self.loop.time = self.time
        self.loop._selector.select = self.select

    def time(self) -> float:
        return self._told + (time.monotonic() - self._at) * self._speed

    def select(self, timeout: float | None) -> Any:
        return self._select(timeout and timeout / self._speed)

    def run_at(self, speed: float) -> None:
        self._told, self._at = self.time(), time.monotonic()
        self._speed = speed


async def test_broker_that_is_killed_while_the_cloud_is_away_loses_nothing(
    line: Line,
) -> None:
    """It forgets what it acknowledged, and even that the cloud had subscribed."""
    line.start_fleet()
    box = line.box("shop-1").start()
    await tell(box, range(1))
    await all_once(line, box, range(1))
    await line.stop_fleet()
    link, sender = parts(box)
    for _ in range(5):
        assert box.sync is not None
        box.sync.count(None, "edge")
    await tell(box, range(1, 200))

    def has_sent(connections: int) -> bool:
        return link.connections == connections and sender._sent >= WINDOW - 1

    for connections in (1, 2):
        # The broker has acknowledged a window, and loses it.
        await until(partial(has_sent, connections))
        line.broker.stop(kill=True)
        await until(lambda: not is_up(box))
        line.broker.start()
    await until(partial(has_sent, 3))
    line.start_fleet()
    await all_once(line, box, range(200))
    await until(lambda: line.office.boxes.list()[0].tiers == {"edge": 5})
    await asyncio.sleep(1)
    assert line.office.boxes.list()[0].tiers == {"edge": 5}


@pytest.mark.slow
async def test_ten_minutes_without_a_network_then_a_thousand_events(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "fast", lambda options: options)
    published: Counter[int] = Counter()
    tries: list[int] = []
    publish, pause_s = Outbox._publish, Link._pause_s

    async def noted(sender: Outbox, event: Event) -> None:
        published[event.number] += event.kind == "door"
        await publish(sender, event)

    def counted(link: Link, failures: int) -> float:
        tries.append(failures)
        return pause_s(link, failures)

    monkeypatch.setattr(Outbox, "_publish", noted)
    monkeypatch.setattr(Link, "_pause_s", counted)
    box = line.box("shop-1").start()
    await until(lambda: is_up(box))
    line.broker.stop(kill=True)
    await until(lambda: not is_up(box))

    clock = Hasty()
    clock.run_at(HASTE)
    begun, threads = clock.time(), threading.active_count()
    for first in range(0, QUEUED, 50):
        await tell(box, range(first, first + 50))
        await asyncio.sleep(OUTAGE_S / (QUEUED / 50))
    assert clock.time() - begun >= OUTAGE_S
    # It knocked ever more rarely, and no thread was left behind.
    assert 4 <= len(tries) <= 100
    assert threading.active_count() <= threads + 2
    assert not is_up(box)
    assert not published

    line.broker.start()
    await until(lambda: is_up(box))
    clock.run_at(1.0)
    line.start_fleet()
    await all_once(line, box, range(QUEUED))
    # Nothing was lost on this way, so only the first window may have gone twice.
    assert sum(published.values()) <= QUEUED + 2 * WINDOW


class Twin(Box):
    """A box made from a copy of another's disk."""

    def __init__(self, box: Box, name: str) -> None:
        self.data = box.data.with_name(name)
        shutil.copytree(box.data, self.data)
        membership = load_membership(self.data)
        assert membership is not None
        self.membership = membership
        self.wall = box.wall
        self.cloud = box.cloud
        self.sync = None


async def test_two_copies_of_a_disk_swallow_nothing_of_each_other(line: Line) -> None:
    line.start_fleet()
    one = line.box("shop-1").start()
    await tell(one, range(3))
    await all_once(line, one, range(3))
    await one.stop()
    two = Twin(one, "twin")
    line.boxes.append(two)
    one.start()
    await tell(one, range(3, 10))
    await all_once(line, one, range(10))
    await one.stop()
    two.start()
    await tell(two, range(10, 20))
    await all_once(line, two, range(20))
    assert line.office.boxes.list()[0].doubled is None

    # Both at once throw each other out; everything of both arrives all the same.
    one.start()
    await tell(one, range(20, 30))
    await tell(two, range(30, 40))
    await until(lambda: doors(line) == Counter(range(40)), "events are missing")
    await until(lambda: line.office.boxes.list()[0].doubled, "nobody notices")


async def test_memory_that_was_lost_is_told_and_old_metadata_stays_refused(
    line: Line,
) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    await line.phrase("今日特价")
    await line.converged()
    sync = box.sync
    assert sync is not None
    marks = dict(sync._marks.versions())
    await box.stop()
    for path in box.data.glob("sync.db*"):
        path.write_bytes(b"not a database at all")
    box.start()
    sync = box.sync
    assert sync is not None
    asked = "SELECT body FROM events WHERE kind = 'memory-lost'"
    await until(lambda: line.office.db.read(asked), "the cloud does not hear of it")
    assert '"kept"' in line.office.db.read(asked)[0]["body"]
    assert sync.state().is_rebuilt
    assert sync._marks.versions().items() >= marks.items()
    await until(lambda: sync.state().is_current, "the catalogue does not come again")
