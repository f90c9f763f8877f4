from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from common.audio.pcm import Pcm
from common.audio.sounding import Sounding
from common.errors import YaoheError

EMPTY = np.zeros(0, np.float32)


async def test_chunks_without_samples_are_passed_over(
    sound: Callable[[int], Pcm], engine: type
) -> None:
    sounding = Sounding(engine(EMPTY, sound(10), EMPTY, sound(20)).run())
    await sounding.begin()
    assert [chunk.size async for chunk in sounding] == [10, 20]
    assert sounding.samples == 30


@pytest.mark.parametrize("chunks", [(), (EMPTY,), (EMPTY, EMPTY)])
async def test_an_engine_without_sound_is_an_error_and_stopped(
    engine: type, chunks: tuple[Pcm, ...]
) -> None:
    running = engine(*chunks)
    with pytest.raises(YaoheError) as refusal:
        await Sounding(running.run()).begin()
    assert refusal.value.code == "voice_unavailable"
    assert running.is_stopped


async def test_the_error_of_an_engine_is_its_own(engine: type) -> None:
    failure = YaoheError("queue_full", "busy", retry_after_s=2)
    with pytest.raises(YaoheError) as refusal:
        await Sounding(engine(EMPTY, failure).run()).begin()
    assert refusal.value is failure


async def test_closing_twice_is_closing_once(
    sound: Callable[[int], Pcm], engine: type
) -> None:
    running = engine(sound(10), sound(10))
    sounding = Sounding(running.run())
    await sounding.begin()
    await sounding.aclose()
    await sounding.aclose()
    assert running.is_stopped
    assert [chunk async for chunk in sounding] == []


async def test_an_iterator_that_cannot_be_closed_is_let_go(
    sound: Callable[[int], Pcm],
) -> None:
    class Plain(AsyncIterator[Pcm]):
        async def __anext__(self) -> Pcm:
            return sound(5)

    sounding = Sounding(Plain())
    await sounding.begin()
    await sounding.aclose()


async def test_a_caller_who_is_cancelled_while_waiting_stops_the_work(
    sound: Callable[[int], Pcm],
) -> None:
    stopped = asyncio.Event()

    async def slow() -> AsyncIterator[Pcm]:
        try:
            await asyncio.sleep(60)
            yield sound(5)
        finally:
            # A real engine hands its slot back before it is done.
            await asyncio.sleep(0.01)
            stopped.set()

    waiting = asyncio.create_task(Sounding(slow()).begin())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert stopped.is_set()


async def test_an_iterator_that_fails_is_closed() -> None:
    class Failing(AsyncIterator[Pcm]):
        is_stopped = False

        async def __anext__(self) -> Pcm:
            raise YaoheError("queue_full", "busy")

        async def aclose(self) -> None:
            self.is_stopped = True

    failing = Failing()
    with pytest.raises(YaoheError):
        await Sounding(failing).begin()
    assert failing.is_stopped
