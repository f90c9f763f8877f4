"""Work that runs ahead of its listener, within bounds.

A player takes sound at the speed of speech; an engine makes it faster. So the work runs
in a task of its own and its slot is free as soon as it is done, while the listener
takes what is ready. Rules: at most ``max_samples`` wait (then the work waits too);
whoever closes stops the work; an error reaches the listener after the sound before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from common.audio.pcm import Pcm

MAX_SAMPLES = 24_000 * 120
"""Sound that may wait for its listener: two minutes, 11.5 MB."""


class Ahead(AsyncIterator[Pcm]):
    """The chunks of a source that is already being drawn."""

    def __init__(
        self, source: AsyncGenerator[Pcm, None], max_samples: int = MAX_SAMPLES
    ) -> None:
        """Start drawing; needs a running loop.

        Args:
            source: Chunks that nobody else draws.
            max_samples: Samples that may wait.
        """
        self._source = source
        self._max_samples = max_samples
        self._ready: deque[Pcm] = deque()
        self._held = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._draw())
        self._task.add_done_callback(lambda _: self._news.set())

    async def _draw(self) -> None:
        async with aclosing(self._source) as chunks:
            async for chunk in chunks:
                self._ready.append(chunk)
                self._held += chunk.size
                self._news.set()
                while self._held >= self._max_samples:
                    self._room.clear()
                    await self._room.wait()

    async def started(self) -> bool:
        """Wait for the first sound.

        Returns:
            False where the source ended without any.

        Raises:
            YaoheError: What the source raised instead.
        """
        while not self._ready:
            if self._task.done():
                self._task.result()
                return False
            self._news.clear()
            await self._news.wait()
        return True

    async def __anext__(self) -> Pcm:
        """The next chunk, as soon as it is there."""
        if not await self.started():
            raise StopAsyncIteration
        chunk = self._ready.popleft()
        self._held -= chunk.size
        self._room.set()
        return chunk

    async def aclose(self) -> None:
        """Stop the work and wait until it has stopped."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._ready.clear()
