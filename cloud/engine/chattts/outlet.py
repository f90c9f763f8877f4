"""From the engine's thread to one listener on an event loop, within bounds."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from cloud.engine.base import Chunk
from common.errors import YaoheError


class Outlet:
    """Sound that waits for one listener.

    The engine's thread puts and never blocks; it looks at :attr:`is_full` and lets the
    request stand still, which stops nobody else. Whoever takes sound out calls
    ``on_room`` once the rest is below half.
    """

    def __init__(self, max_samples: int, on_room: Callable[[], None]) -> None:
        """Open; needs a running loop.

        Args:
            max_samples: Samples that may wait before the request stands still.
            on_room: Called from the listener's loop when there is room again.
        """
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()
        self._chunks: deque[Chunk] = deque()
        self._samples = 0
        self._max_samples = max_samples
        self._on_room = on_room
        self._was_full = False
        self._is_ended = False
        self._error: YaoheError | None = None

    @property
    def is_full(self) -> bool:
        """Whether enough waits; asking again after that is :meth:`get`'s turn."""
        with self._lock:
            self._was_full = self._samples >= self._max_samples
            return self._was_full

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will come."""
        return self._is_ended

    def put(self, chunk: Chunk) -> None:
        """Hand over sound, from any thread.

        Args:
            chunk: Samples; none of them are no chunk.
        """
        if chunk.size and not self._is_ended:
            with self._lock:
                self._chunks.append(chunk)
                self._samples += chunk.size
            self._tell()

    def end(self, error: YaoheError | None = None) -> None:
        """Say that nothing more comes, from any thread; the first end counts.

        Args:
            error: Why, if it ends before its time.
        """
        with self._lock:
            if not self._is_ended:
                self._is_ended, self._error = True, error
        self._tell()

    async def get(self) -> Chunk | None:
        """Wait for the next sound.

        Returns:
            Samples in order, or None at the end.

        Raises:
            YaoheError: Why it ended before its time.
        """
        while True:
            with self._lock:
                self._news.clear()
                chunk = self._chunks.popleft() if self._chunks else None
                if chunk is not None:
                    self._samples -= chunk.size
                has_room = self._was_full and 2 * self._samples < self._max_samples
                self._was_full = self._was_full and not has_room
                is_ended = self._is_ended
            if has_room:
                self._on_room()
            if chunk is not None:
                return chunk
            if is_ended:
                if self._error is not None:
                    raise self._error
                return None
            await self._news.wait()

    def _tell(self) -> None:
        """Wake the listener; its loop may be gone by now."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._news.set)
