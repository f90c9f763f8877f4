"""Cloud, broker and boxes together: it converges, and nothing is doubled."""

from __future__ import annotations

import asyncio
import time

import pytest
from fastapi import FastAPI

from cloud.fleet import repository, routes
from cloud.fleet.service import Fleet
from common.phrase import phrase_key
from common.protocol import topics
from common.text import RULES_VERSION, read
from edge.sync import fetch, service
from edge.sync.events import Spoken
from edge.sync.trust import TrustDesk
from tests.lines import Line, until
from tests.webs import served

pytestmark = pytest.mark.broker
EVENTS = 1000
AHEAD_S = 30 * 24 * 3600
TEXTS = ["今日特价", "第12桌请取餐", "买一送一", "欢迎光临"]


def spoken(text: str) -> Spoken:
    symbols = read(text).symbols
    key = phrase_key(symbols, voice="woman", dialect="zh")
    return Spoken(key, text, "woman", "zh", RULES_VERSION, "")


async def test_phrase_travels_to_every_box_and_leaves_again(line: Line) -> None:
    fleet = line.start_fleet()
    one, two = line.box("shop-1").start(), line.box("shop-2").start()
    key = await line.phrase(TEXTS[0])
    await line.converged()
    found = one.cache.best(key, pack_sha256="")
    assert found is not None
    rendition = found.rendition
    assert (rendition.text, rendition.engine, rendition.origin) == (
        *(TEXTS[0], "hum"),
        "cloud",
    )
    rows = {row.box: row for row in line.office.boxes.list()}
    await until(lambda: all(row.is_up for row in line.office.boxes.list()))
    assert rows.keys() == {"shop-1", "shop-2"}

    line.office.catalogue.remove("all", bytes.fromhex(key))
    other = await line.phrase(TEXTS[1])
    await line.converged()
    assert one.keys() == two.keys() == {other}
    assert fleet.is_up


async def test_box_that_was_away_catches_up_while_the_cloud_is_gone_and_back(
    line: Line,
) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    await line.phrase(TEXTS[0])
    await line.converged()
    await box.stop()
    for text in TEXTS[1:]:
        await line.phrase(text)
    await line.stop_fleet()
    box.start()
    await asyncio.sleep(1)
    line.start_fleet()
    await line.converged()
    assert len(box.keys()) == len(TEXTS)


async def test_zeroed_broker_database_loses_nothing(line: Line) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    await line.phrase(TEXTS[0])
    await line.converged()
    line.broker.stop()
    line.broker.zero()
    # A broker that cannot read its database starts without it.
    for path in line.broker.config.parent.rglob("*.db"):
        path.unlink()
    line.broker.start()
    await line.phrase(TEXTS[1])
    await line.converged()
    late = line.box("shop-2").start()
    await line.converged()
    assert late.keys() == box.keys()


async def test_counts_arrive_once_though_broker_and_cloud_were_gone(line: Line) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    assert box.sync is not None
    await until(lambda: box.sync is not None and box.sync.state().is_up)
    await line.stop_fleet()
    line.broker.stop(kill=True)
    for first in range(0, EVENTS, 250):
        await asyncio.gather(
            *(box.sync.tell("door", {"n": n}) for n in range(first, first + 250))
        )
    for _ in range(7):
        box.sync.count(spoken(TEXTS[0]), "edge")
    box.sync.count(spoken(TEXTS[0]), "cache")
    await box.stop()
    box.start()
    line.broker.start()
    line.start_fleet()

    def counted() -> int:
        return int(
            line.office.db.read("SELECT count(*) AS n FROM events WHERE kind = 'door'")[
                0
            ]["n"]
        )

    await until(lambda: counted() == EVENTS)
    await until(lambda: line.office.boxes.list()[0].tiers == {"edge": 7, "cache": 1})
    assert box.sync is not None
    await until(lambda: box.sync is not None and box.sync.state().waiting == 0)
    assert counted() == EVENTS


async def test_what_shops_say_most_is_rendered_for_all(line: Line) -> None:
    fleet = line.start_fleet()
    box = line.box("shop-1").start()
    assert box.sync is not None
    hot = spoken("今日特价，新鲜草莓每斤9.9元，买一送一。")
    for _ in range(6):
        box.sync.count(hot, "edge")
    box.sync.count(spoken("只说一次"), "edge")
    await until(lambda: line.office.db.read("SELECT * FROM heat"))
    await until(lambda: fleet._ranking.wish() or line.wanted())
    await until(lambda: line.wanted() == {hot.key})
    await line.converged()
    assert fleet._ranking.wish() == 0


async def test_clock_in_1970_is_reported_and_the_line_works(line: Line) -> None:
    line.start_fleet()
    box = line.box("shop-1")
    box.wall = lambda: 0.0
    box.start()
    await line.phrase(TEXTS[0])
    await line.converged()
    await until(lambda: line.office.boxes.list()[0].clock_suspect)


async def test_clock_thirty_days_ahead_is_reported_and_the_line_works(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.start_fleet()
    box = line.box("shop-1")
    box.wall = lambda: time.time() + AHEAD_S
    box.start()
    await line.phrase(TEXTS[0])
    await line.converged()
    await until(lambda: line.office.boxes.list()[0].clock_suspect)
    before = box.sync
    assert before is not None
    for number in range(3):
        await before.tell("door", {"n": number})
    await until(lambda: before.state().waiting == 0, "events do not arrive")
    # The floor came from a signature, not from that clock.
    assert before._trust.floor_s < time.time() + 60

    # After a restart the same metadata could be a frozen repository's: what is here
    # still plays, and what is signed next is taken up again.
    await box.stop()
    box.start()
    sync = box.sync
    assert sync is not None
    await until(lambda: sync.state().is_up)
    await until(lambda: "expired" in (sync.state().refusal or ""))
    assert len(box.keys()) == 1
    monkeypatch.setattr(repository, "RENEW_AT", 2.0)
    line.office.repository.renew()
    await line.phrase(TEXTS[1])
    await line.converged()
    assert sync.state().refusal is None

    # And when somebody sets the clock right, nothing is left of it.
    await box.stop()
    box.wall = time.time
    box.start()
    await line.phrase(TEXTS[2])
    await line.converged()
    await until(lambda: not line.office.boxes.list()[0].clock_suspect)


async def test_metadata_that_was_lost_is_heard_again(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue that overflows loses messages, and no reconnect brings them back."""
    monkeypatch.setattr(service, "AGAIN_S", 0.5)
    lost: list[str] = []
    take = TrustDesk.take

    async def lose_once(desk: TrustDesk, topic: topics.Topic, content: bytes) -> None:
        if "/tuf/targets/" in str(topic) and not lost:
            lost.append(str(topic))
            return
        await take(desk, topic, content)

    monkeypatch.setattr(TrustDesk, "take", lose_once)
    line.start_fleet()
    await asyncio.sleep(1)
    line.box("shop-1").start()
    await line.phrase(TEXTS[0])
    await line.converged()
    assert lost


async def test_blobs_come_over_http_where_the_line_brings_none(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fleet, "_send_chunks", _nothing)
    monkeypatch.setattr(fetch, "PATIENCE_S", 0.5)
    app = FastAPI()
    app.state.office = line.office
    app.include_router(routes.router)
    line.start_fleet()
    box = line.box("shop-1")
    with served(app) as box.cloud:
        box.start()
        await line.phrase(TEXTS[0])
        await line.phrase(TEXTS[1])
        await line.converged()
        await box.stop()


async def _nothing(*_: object) -> None:
    """Loses whatever it is given."""


async def test_damaged_cache_is_filled_again(line: Line) -> None:
    line.start_fleet()
    box = line.box("shop-1").start()
    await line.phrase(TEXTS[0])
    await line.converged()
    await box.stop()
    for path in box.data.glob("cache.db*"):
        path.write_bytes(b"not a database at all")
    box.start()
    await line.converged()


async def test_text_that_nobody_can_read_is_refused_with_its_reason(line: Line) -> None:
    fleet = line.start_fleet()
    number = fleet.wishes.add("今日特价")
    with line.office.db.change() as db:
        db.execute("UPDATE wishes SET voice = 'no voice' WHERE id = ?", (number,))
    await until(lambda: fleet.wishes.find(number).state == "refused")
    assert "voice" in (fleet.wishes.find(number).error or "")
