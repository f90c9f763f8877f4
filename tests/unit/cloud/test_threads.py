"""From a blocking generator to an asynchronous one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloud.engine.threads import steps


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def listen(values: AsyncIterator[int], heard: list[int]) -> None:
    async for value in values:
        heard.append(value)


async def test_values_come_in_order(pool: ThreadPoolExecutor) -> None:
    source = (number for number in range(10))
    assert [value async for value in steps(source, pool)] == list(range(10))


async def test_an_error_reaches_who_listens(pool: ThreadPoolExecutor) -> None:
    def broken() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broke")

    heard: list[int] = []
    with pytest.raises(ValueError, match="broke"):
        await listen(steps(broken(), pool), heard)
    assert heard == [1]


async def test_two_jobs_take_turns_on_one_thread(pool: ThreadPoolExecutor) -> None:
    order: list[str] = []

    def job(name: str) -> Generator[str, None, None]:
        for _ in range(3):
            order.append(name)
            yield name

    async def drain(name: str) -> None:
        async for _ in steps(job(name), pool):
            pass

    await asyncio.gather(drain("a"), drain("b"))
    assert order[:4] == ["a", "b", "a", "b"]


async def test_leaving_closes_the_generator_after_its_step(
    pool: ThreadPoolExecutor,
) -> None:
    entered, leave, closed = threading.Event(), threading.Event(), threading.Event()
    steps_done: list[int] = []

    def slow() -> Generator[int, None, None]:
        try:
            for number in range(3):
                entered.set()
                leave.wait(10)
                steps_done.append(number)
                yield number
        finally:
            closed.set()

    async def listen() -> None:
        async for _ in steps(slow(), pool):
            pass

    task = asyncio.create_task(listen())
    await asyncio.to_thread(entered.wait, 10)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not closed.is_set()
    leave.set()
    assert await asyncio.to_thread(closed.wait, 10)
    assert steps_done == [0]
