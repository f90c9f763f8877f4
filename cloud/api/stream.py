"""``WS /v1/stream``: text in, frames out, over a socket that may break."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from cloud.dispatch import Dispatch
from common.sessions import Sessions
from common.streaming.conversation import Conversation

router = APIRouter()


@router.websocket("/v1/stream")
async def stream(socket: WebSocket) -> None:
    """Serve one socket; see ``common.protocol.stream`` for its messages."""
    dispatch = cast(Dispatch, socket.app.state.dispatch)
    sessions = cast(Sessions, socket.app.state.sessions)

    async def send(message: dict[str, Any]) -> None:
        try:
            await socket.send(message)
        except (WebSocketDisconnect, RuntimeError):
            raise ConnectionResetError from None

    await socket.accept()
    # A box names its utterances, so that one id runs through both logs.
    talk = Conversation(
        sessions, dispatch.speak, socket.receive, send, takes_utterance=True
    )
    await talk.run()
