"""An answer on the wire: sent as it comes, and its work stopped with its listener."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from common.responses import Answer
from edge.metrics import EdgeMetrics


class SoundResponse(StreamingResponse):
    """A stream that stops the voice when nobody listens any more."""

    def __init__(self, answer: Answer, metrics: EdgeMetrics) -> None:
        """Wrap an answer whose body is an iterator."""
        if isinstance(answer.body, bytes):
            raise TypeError("a finished body needs no stream")
        self._answer = answer
        self._metrics = metrics
        self._is_finished = False
        super().__init__(
            self._counted(answer.body),
            answer.status,
            answer.headers,
            media_type=answer.media_type,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send; whatever ends it, the work behind the answer ends too."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._answer.aclose()
            if not self._is_finished:
                self._metrics.abandoned.inc()

    async def _counted(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in body:
            yield piece
        self._is_finished = True


def response(answer: Answer, metrics: EdgeMetrics) -> Response:
    """Put an answer on the wire.

    Args:
        answer: What box and cloud answer alike.
        metrics: Where listeners that leave are counted.

    Returns:
        The framework's response.
    """
    if isinstance(answer.body, bytes):
        return Response(
            answer.body, answer.status, answer.headers, media_type=answer.media_type
        )
    return SoundResponse(answer, metrics)
