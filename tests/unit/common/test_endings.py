"""Tasks end when they are told to, even those that missed it once."""

from __future__ import annotations

import asyncio

import pytest

from common import endings
from common.endings import end, heard


async def test_deaf_task_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "AGAIN_S", 0.01)
    missed = 0

    async def deaf() -> None:
        nonlocal missed
        while missed < 3:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                missed += 1

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await end([task])
    assert task.done()
    assert missed == 3


async def test_cancellation_in_the_moment_of_the_news_is_not_lost() -> None:
    news = asyncio.Event()
    rounds = 0

    async def listen() -> None:
        nonlocal rounds
        while True:
            await heard(news, 60)
            news.clear()
            rounds += 1

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.01)
    news.set()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
    assert rounds == 0


async def test_wait_says_whether_the_news_came() -> None:
    news = asyncio.Event()
    assert not await heard(news, 0.01)
    news.set()
    assert await heard(news, None)
