"""``WS /v1/stream``: text in, frames out, over a socket that may break."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse

from common.errors import YaoheError
from common.sessions import Sessions
from common.streaming.conversation import Conversation
from edge.api.guard import require_speaker
from edge.service import Service

router = APIRouter()


@router.websocket("/v1/stream")
async def stream(socket: WebSocket) -> None:
    """Serve one socket; see ``common.protocol.stream`` for its messages."""
    service = cast(Service, socket.app.state.service)
    sessions = cast(Sessions, socket.app.state.sessions)

    async def send(message: dict[str, Any]) -> None:
        try:
            await socket.send(message)
        except (WebSocketDisconnect, RuntimeError):
            raise ConnectionResetError from None

    try:
        await require_speaker(socket)
    except YaoheError as error:
        refusal = JSONResponse(error.as_body(), error.status, error.headers)
        await socket.send_denial_response(refusal)
        return
    await socket.accept()
    await Conversation(sessions, service.speak, socket.receive, send).run()
