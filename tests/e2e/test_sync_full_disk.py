"""A box that cannot keep phrases says so, and catches up when it can."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from edge.sync import fetch, service, shelf
from edge.sync.catalogue import CatalogueDesk
from tests.lines import Box, Line, until

pytestmark = pytest.mark.broker
TEXTS = ["今日特价", "第12桌请取餐", "买一送一"]
EVERYTHING = 1 << 60
"""More bytes than any disk has free."""


def told(line: Line) -> list[dict[str, Any]]:
    """What the cloud heard of lacking phrases, in order."""
    rows = line.office.db.read(
        "SELECT body FROM events WHERE kind = ? ORDER BY number", (service.LACK,)
    )
    return [json.loads(row["body"]) for row in rows]


def listed(line: Line) -> tuple[int, int, str]:
    """Phrases of the box in the cloud's list: at hand, lacking, and why."""
    (row,) = line.office.boxes.list()
    return row.phrases, row.lacking, row.lacking_why


def knows_all(box: Box, line: Line) -> bool:
    assert box.sync is not None
    head = line.office.catalogue.published("all").head
    return box.sync.state().catalogue.get("all") == head.seq


async def test_a_box_without_room_on_its_disk_says_what_it_lacks_and_catches_up(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    take_chunk = CatalogueDesk.take_chunk

    async def noted(desk: CatalogueDesk, digest: str, index: int, chunk: bytes) -> None:
        fetched.append(digest)
        await take_chunk(desk, digest, index, chunk)

    line.start_fleet()
    box = line.box("shop-1").start()
    sync = box.sync
    assert sync is not None
    await line.phrase(TEXTS[0])
    await line.converged()
    await until(lambda: sync.state().is_current)

    box.cache._min_free = EVERYTHING
    monkeypatch.setattr(CatalogueDesk, "take_chunk", noted)
    await line.phrase(TEXTS[1])
    await line.phrase(TEXTS[2])
    await until(lambda: knows_all(box, line), "the head is not known")
    await until(lambda: sync.state().lacking == 2)
    state = sync.state()
    assert (state.is_current, state.lacking_why) == (False, "disk")
    await until(lambda: told(line) != [], "the cloud is not told")
    assert [one["why"] for one in told(line)] == ["disk"]
    await until(lambda: listed(line) == (1, 2, "disk"), "the list is behind")
    named = {row.sha256 for row in line.office.catalogue.phrases()}
    assert not named & set(fetched), "nothing is fetched that cannot be kept"

    box.cache._min_free = 0
    await line.converged()
    await until(lambda: sync.state().is_current)
    assert (sync.state().lacking, sync.state().lacking_why) == (0, "")
    await until(lambda: [one["why"] for one in told(line)] == ["disk", ""])
    assert told(line)[-1] == {"phrases": 0, "why": ""}
    await until(lambda: listed(line) == (3, 0, ""), "the list is behind")


async def test_a_disk_that_takes_nothing_is_left_alone_for_a_while(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk says that it has room, and the write fails all the same."""
    monkeypatch.setattr(shelf, "AFTER_REFUSAL_S", 2.0)
    monkeypatch.setattr(fetch, "PATIENCE_S", 0.2)
    line.start_fleet()
    box = line.box("shop-1").start()
    sync = box.sync
    assert sync is not None

    def limited(pages: int) -> Callable[[Any], None]:
        return lambda db: db.conn.execute(f"PRAGMA max_page_count={pages}").fetchone()

    # SQLite itself then says that the disk is full.
    box.cache.store.write(limited(1)).result()
    await line.phrase(TEXTS[0])
    await until(lambda: sync.state().lacking_why == "disk")
    assert not sync.state().is_current
    assert not box.keys()
    box.cache.store.write(limited(1 << 30)).result()
    await line.converged()
    await until(lambda: sync.state().is_current)


async def test_an_error_of_the_line_is_over_when_the_line_is_up(line: Line) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    sync = box.sync
    assert sync is not None
    await until(lambda: sync.state().is_up)
    line.broker.stop(kill=True)
    await until(lambda: not sync.state().is_up)
    state = sync.state()
    assert state.last_error
    assert state.last_error_at is not None
    line.broker.start()
    await until(lambda: sync.state().is_up)
    state = sync.state()
    assert (state.last_error, state.last_error_at) == ("", None)


async def test_a_flood_of_nonsense_is_one_line_of_the_log(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = line.start_fleet()
    box = line.box("shop-1").start()
    sync = box.sync
    assert sync is not None
    await line.phrase(TEXTS[0])
    await line.converged()
    head = "t1/tea/cat/all/head"
    for number in range(200):
        await fleet._link.publish(head, b"nonsense %d" % number)
    await line.phrase(TEXTS[1])
    await line.converged()
    refused = [one for one in caplog.messages if one.startswith(f"{head} is refused")]
    assert len(refused) == 1
