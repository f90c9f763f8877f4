"""What the routes share: the service, the body within its limit, leaving clients."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from common.body import MAX_BODY_BYTES, too_large
from edge.service import Service

T = TypeVar("T")


async def _service(request: Request) -> Service:
    # Not a plain function: the framework would run that on a thread, each time.
    return cast(Service, request.app.state.service)


ServicePart = Annotated[Service, Depends(_service)]


async def body(request: Request) -> bytes:
    """Read a request's body up to its limit.

    Args:
        request: The request.

    Returns:
        The body.

    Raises:
        YaoheError: ``invalid_request`` as soon as the body is too large.
    """
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > MAX_BODY_BYTES:
            raise too_large()
    return bytes(raw)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do some work unless the client leaves first.

    Args:
        request: A request whose body has been read.
        work: Cancelled when the client leaves.

    Returns:
        What the work gives.

    Raises:
        ClientDisconnect: The client left; there is nobody to answer.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(leaving, working, return_exceptions=True)


async def _left(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
