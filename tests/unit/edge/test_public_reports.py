"""Faults that users reported on comparable boxes, tried on this one."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from common.mqtt import Link, LinkOptions
from common.text import read
from common.text.receipt import Reading
from edge import doctor
from edge.api.app import create_app
from edge.packs import Packs
from edge.service import Service
from edge.settings import CacheSettings, EdgeSettings
from tests.unit.edge.tiny import TinyVoice, pack

BOXES = 2000
SPEECH = "/v1/audio/speech"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    settings = EdgeSettings(data=tmp_path, cache=CacheSettings(min_free_bytes=0))
    return Service(settings, packs=Packs([pack(TinyVoice())], None))


async def kept(service: Service) -> None:
    """Wait until what was said is on the disk."""
    assert service.cache is not None
    for _ in range(1000):
        if service.cache.stats().renditions:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it is not kept")


def test_two_thousand_boxes_do_not_return_at_once() -> None:
    """All of them lose the broker in one moment, and it stays away for a minute."""
    options = LinkOptions(host="127.0.0.1", port=1, client="box")
    arrivals: Counter[int] = Counter()
    for number in range(BOXES):
        link = Link(options, chance=random.Random(number))
        when, failures = 0.0, 0
        while when < 60.0:
            failures += 1
            when += link._pause_s(failures)
        arrivals[int(when)] += 1
    # A herd would be all of them in one second.
    assert max(arrivals.values()) < BOXES / 10
    assert len(arrivals) > 15


def test_nothing_that_lacks_a_wheel_for_small_boards_reads_the_text() -> None:
    needed = " ".join(metadata.requires("yaohe") or ()).lower()
    for name in ("pynini", "wetextprocessing", "kaldifst", "openfst"):
        assert name not in needed


def test_a_reader_that_drops_a_price_is_found_before_a_customer_hears_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dropping(text: str) -> Reading:
        return read(text.replace("9.9", ""))

    monkeypatch.setattr("edge.doctor.read", dropping)
    checks = {c.name: c for c in doctor.look(EdgeSettings(data=tmp_path))}
    assert checks["reading"].verdict == "fail"


async def test_a_box_that_woke_up_in_1970_speaks_keeps_and_speaks_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 12.0)
    app = create_app(service)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://box") as client,
    ):
        tiers = []
        for _ in range(2):
            answer = await client.get(SPEECH, params={"input": "欢迎光临"})
            assert answer.status_code == 200
            tiers.append(answer.headers["X-Yaohe-Tier"])
            await kept(service)
    assert tiers == ["edge", "cache"]


async def test_a_screen_that_plays_in_a_loop_gets_the_sound_every_time(
    service: Service,
) -> None:
    app = create_app(service)
    transport = httpx.ASGITransport(app)
    query = {"input": "欢迎光临", "response_format": "wav"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://box") as client,
    ):
        first = await client.get(SPEECH, params=query)
        await kept(service)
        again = [await client.get(SPEECH, params=query) for _ in range(3)]
        tag = again[0].headers["ETag"]
        known = await client.get(SPEECH, params=query, headers={"If-None-Match": tag})
        part = await client.get(SPEECH, params=query, headers={"Range": "bytes=0-99"})
    assert {answer.status_code for answer in (first, *again)} == {200}
    assert len({answer.content for answer in again}) == 1
    assert len(again[0].content) > 10_000
    assert (known.status_code, known.content) == (304, b"")
    assert (part.status_code, part.content) == (206, again[0].content[:100])
