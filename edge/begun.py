"""Sound that has begun: the first chunk is at hand, the rest is on its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from common.audio.pcm import Pcm
from common.errors import YaoheError
from edge.stage import Listener

log = logging.getLogger(__name__)


class Begun(AsyncIterator[Pcm]):
    """The chunks of a take whose first has been heard."""

    def __init__(self, first: Pcm, rest: Listener) -> None:
        """Put them together; :meth:`first` is how they are made."""
        self._first: Pcm | None = first
        self._rest = rest

    @classmethod
    async def first(cls, listener: Listener, patience_s: float | None) -> Begun:
        """Wait for the first sound.

        Args:
            listener: Who listens to the take; closed when nothing comes.
            patience_s: Longest wait in seconds; None waits.

        Returns:
            The sound.

        Raises:
            YaoheError: ``deadline_exceeded``; ``voice_unavailable`` when the take
                failed or ended without a sound.
        """
        try:
            return cls(await asyncio.wait_for(_sound(listener), patience_s), listener)
        except asyncio.TimeoutError:
            await listener.aclose()
            raise YaoheError(
                "deadline_exceeded", "no sound within the deadline"
            ) from None
        except YaoheError:
            await listener.aclose()
            raise
        except Exception as error:
            await listener.aclose()
            log.exception("a voice failed")
            raise YaoheError(
                "voice_unavailable", f"it failed: {type(error).__name__}"
            ) from error
        except BaseException:
            await listener.aclose()
            raise

    async def __anext__(self) -> Pcm:
        """The next chunk, as soon as it is made."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return await self._rest.__anext__()

    async def aclose(self) -> None:
        """Stop listening."""
        await self._rest.aclose()


async def _sound(listener: Listener) -> Pcm:
    """The first chunk that holds any samples."""
    async for chunk in listener:
        if chunk.size:
            return chunk
    raise YaoheError("voice_unavailable", "it gave no sound")
