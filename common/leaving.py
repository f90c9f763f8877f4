"""Work for a caller who may leave: it stops when nobody is there to hear it.

Stands on ASGI's ``receive`` alone, which every web framework in use here hands on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
"""ASGI's channel from the client."""

CLIENT_LEFT = 499
"""Status that only logs see: the client is gone."""


class ClientGone(Exception):
    """The client left; there is nobody to answer."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do some work unless the client leaves first.

    Args:
        receive: The channel of a request whose body has been read.
        work: Cancelled when the client leaves.

    Returns:
        What the work gives.

    Raises:
        ClientGone: The client left before the work was done.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGone
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(leaving, working, return_exceptions=True)


async def _left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
