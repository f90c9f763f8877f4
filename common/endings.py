"""Ending tasks, and waiting in a way that can be ended.

Before Python 3.12 ``asyncio.wait_for`` loses a cancellation that comes in the moment
its future is done, and whoever waits for the task's end waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_S = 15.0
"""A task that goes on this long after its cancellation is cancelled once more."""


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until all are over.

    Args:
        tasks: Tasks; what they raised stays in them.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=AGAIN_S)


async def heard(news: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait for an event, at most for a time.

    Args:
        news: The event.
        timeout_s: Longest wait in seconds; None waits for ever.

    Returns:
        Whether it came.
    """
    waiter = asyncio.ensure_future(news.wait())
    try:
        done, _ = await asyncio.wait({waiter}, timeout=timeout_s)
    finally:
        waiter.cancel()
    return bool(done)
