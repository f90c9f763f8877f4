"""From a blocking generator to an asynchronous one, a step at a time on a pool.

Rules: the event loop never blocks; jobs that share a thread take turns chunk by chunk,
so a short one is not stuck behind a long one; a generator that nobody wants any more is
closed as soon as its running step has ended, and nothing starts another step.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from common.errors import YaoheError

T = TypeVar("T")

_END: Any = object()


async def steps(
    source: Generator[T, None, None], pool: Executor
) -> AsyncGenerator[T, None]:
    """Draw a generator's values on a pool's threads.

    Args:
        source: A generator that nobody else draws from.
        pool: Runs one step per value.

    Yields:
        The values in order.

    Raises:
        YaoheError: ``not_ready``: the pool was shut down meanwhile.
    """
    running = _submitted(source, pool)
    try:
        while (value := await asyncio.wrap_future(running)) is not _END:
            yield value
            running = _submitted(source, pool)
    finally:
        # A step that still runs closes the generator itself when it ends; closing it
        # from here would be refused by Python ("already executing").
        running.add_done_callback(lambda _: source.close())


def _submitted(source: Generator[T, None, None], pool: Executor) -> Future[Any]:
    """The next step, on its way."""
    try:
        return pool.submit(next, source, _END)
    except RuntimeError:
        raise YaoheError("not_ready", "the engine was stopped") from None
