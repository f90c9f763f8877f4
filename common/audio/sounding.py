"""A sound that is still being made: looked at before it is answered, stopped for sure.

Rules: chunks without samples are passed over; :meth:`Sounding.begin` finds out whether
there is any sound at all; :meth:`Sounding.aclose` may be called at any time, also
twice, and the engine's iterator is closed even if the closing task is being cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from common.audio.pcm import Pcm
from common.errors import YaoheError


class Sounding(AsyncIterator[Pcm]):
    """The chunks of one engine, each with at least one sample."""

    def __init__(self, chunks: AsyncIterator[Pcm]) -> None:
        """Take an engine's chunks over.

        Args:
            chunks: The engine's iterator; nobody else may read it.
        """
        self._chunks = chunks
        self._first: Pcm | None = None
        self._closing: asyncio.Future[Any] | None = None
        self.samples = 0

    async def begin(self) -> None:
        """Wait for the first sound.

        Raises:
            YaoheError: ``voice_unavailable`` when the engine ends without any, or the
                engine's own error; the iterator is closed then.
        """
        try:
            self._first = await self._next()
        except StopAsyncIteration:
            await self.aclose()
            raise YaoheError(
                "voice_unavailable", "The voice gave no sound for this text."
            ) from None
        except BaseException:
            await self.aclose()
            raise

    async def __anext__(self) -> Pcm:
        """The next chunk with sound."""
        if self._closing is not None:
            raise StopAsyncIteration
        chunk, self._first = self._first, None
        if chunk is None:
            chunk = await self._next()
        self.samples += chunk.size
        return chunk

    async def _next(self) -> Pcm:
        while True:
            chunk = await self._chunks.__anext__()
            if chunk.size:
                return chunk

    async def aclose(self) -> None:
        """Stop the work."""
        if self._closing is None:
            close = getattr(self._chunks, "aclose", None)
            if close is None:
                return
            self._closing = asyncio.ensure_future(close())
        await asyncio.shield(self._closing)
