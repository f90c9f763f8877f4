"""What the routes are given: the parts that the application was built with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from cloud.dispatch import Dispatch
from cloud.metrics import Metrics
from common.body import MAX_BODY_BYTES, too_large
from common.receipts import ReceiptBook
from common.responses import Answer

T = TypeVar("T")


# No plain functions: the framework would run them on a thread, each time.
async def _dispatch(request: Request) -> Dispatch:
    return cast(Dispatch, request.app.state.dispatch)


async def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


async def _receipts(request: Request) -> ReceiptBook:
    return cast(ReceiptBook, request.app.state.receipts)


DispatchPart = Annotated[Dispatch, Depends(_dispatch)]
MetricsPart = Annotated[Metrics, Depends(_metrics)]
ReceiptsPart = Annotated[ReceiptBook, Depends(_receipts)]


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
        work: Stopped when the client leaves.

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


class _Sending(StreamingResponse):
    """An answer that stops its work however its sending ends."""

    def __init__(self, answer: Answer, content: AsyncIterator[bytes]) -> None:
        super().__init__(
            content, answer.status, answer.headers, media_type=answer.media_type
        )
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._answer.aclose()


def response(answer: Answer) -> Response:
    """Put an answer on the wire.

    Args:
        answer: What box and cloud answer alike.

    Returns:
        The framework's response.
    """
    if not isinstance(answer.body, bytes):
        return _Sending(answer, answer.body)
    return Response(
        answer.body, answer.status, answer.headers, media_type=answer.media_type
    )
