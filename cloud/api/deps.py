"""What the routes are given: the parts that the application was built with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from cloud.dispatch import Dispatch
from cloud.metrics import Metrics
from common.receipts import ReceiptBook
from common.responses import Answer


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
