"""Work that runs ahead of its listener."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest

from common.ahead import Ahead
from common.audio.pcm import Pcm


class Source:
    """Counts what was drawn from it and whether it was closed."""

    def __init__(self, count: int, fails_at: int | None = None) -> None:
        self.count, self.fails_at = count, fails_at
        self.drawn = 0
        self.is_closed = False

    async def chunks(self) -> AsyncGenerator[Pcm, None]:
        try:
            for number in range(self.count):
                if number == self.fails_at:
                    raise ValueError("broke")
                await asyncio.sleep(0)
                self.drawn += 1
                yield np.full(10, number, np.float32)
        finally:
            self.is_closed = True


async def listen(ahead: Ahead, heard: list[int]) -> None:
    async for chunk in ahead:
        heard.append(int(chunk[0]))


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_chunks_arrive_complete_and_in_order() -> None:
    heard = [int(chunk[0]) async for chunk in Ahead(Source(20).chunks())]
    assert heard == list(range(20))


async def test_the_work_ends_without_any_listener() -> None:
    source = Source(20)
    ahead = Ahead(source.chunks())
    await settle()
    assert source.is_closed
    assert [int(chunk[0]) async for chunk in ahead] == list(range(20))


async def test_the_work_waits_for_a_listener_who_is_far_behind() -> None:
    source = Source(20)
    ahead = Ahead(source.chunks(), max_samples=30)
    await settle()
    assert source.drawn == 3
    assert len([chunk async for chunk in ahead]) == 20


async def test_closing_stops_the_work() -> None:
    source = Source(10_000)
    ahead = Ahead(source.chunks())
    await ahead.started()
    await ahead.aclose()
    assert source.is_closed
    assert source.drawn < 10_000


async def test_closing_stops_work_that_waits_for_room() -> None:
    source = Source(20)
    ahead = Ahead(source.chunks(), max_samples=10)
    await settle()
    await ahead.aclose()
    assert source.is_closed


async def test_an_error_comes_after_the_sound_before_it() -> None:
    ahead = Ahead(Source(5, fails_at=2).chunks())
    heard: list[int] = []
    with pytest.raises(ValueError, match="broke"):
        await listen(ahead, heard)
    assert heard == [0, 1]


async def test_an_error_before_any_sound_shows_at_the_start() -> None:
    with pytest.raises(ValueError, match="broke"):
        await Ahead(Source(5, fails_at=0).chunks()).started()


async def test_a_source_without_sound_says_so() -> None:
    assert not await Ahead(Source(0).chunks()).started()
