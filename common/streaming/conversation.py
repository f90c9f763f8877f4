"""One socket of ``/v1/stream``, as messages: what comes in, what goes out.

Rules: several streams share the socket, each with its number; a message that is none is
answered with ``error`` and the socket goes on, a few times; a socket that breaks leaves
its streams waiting for a ``resume``.

The socket is spoken to by the messages of ASGI (``websocket.receive``,
``websocket.send``, ``websocket.close``), so that any framework can give it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from common.errors import YaoheError
from common.kept import Hearing, Kept
from common.protocol.frames import pack
from common.protocol.stream import (
    Ack,
    AddText,
    Cancel,
    End,
    Failed,
    Flush,
    Resume,
    Resumed,
    Start,
    Started,
)
from common.protocol.stream_text import parse_client, stream_of
from common.sessions import Sessions
from common.streaming.pace import Pace
from common.streaming.speaking import Speak, Speaking

MAX_LIVE = 8
"""Streams of one socket that are not at their end."""
MAX_BAD_MESSAGES = 8
"""Messages that are none; one more closes the socket."""
CLOSE_POLICY = 1008
"""WebSocket close code for a client that does not keep to the protocol."""

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class _Line:
    """A stream on this socket: where it is kept, who speaks, who forwards it."""

    kept: Kept
    speaking: Speaking
    hearing: Hearing
    task: asyncio.Task[None] | None = None

    @property
    def is_live(self) -> bool:
        """Whether there is more to send."""
        return self.task is not None and not self.task.done()


class Conversation:
    """Serves one accepted socket until it is gone."""

    def __init__(
        self,
        sessions: Sessions,
        speak: Speak,
        receive: Receive,
        send: Send,
        *,
        takes_utterance: bool = False,
    ) -> None:
        """Prepare.

        Args:
            sessions: Where streams are kept.
            speak: Who speaks.
            receive: Gives the next ASGI message.
            send: Takes an ASGI message; raises ConnectionError when the socket is gone.
            takes_utterance: Whether the client may name utterances.
        """
        self._sessions = sessions
        self._speak = speak
        self._receive = receive
        self._send = send
        self._takes_utterance = takes_utterance
        self._pace = Pace()
        self._sending = asyncio.Lock()
        self._lines: dict[int, _Line] = {}

    async def run(self) -> None:
        """Serve until the client leaves."""
        bad = 0
        try:
            while True:
                message = await self._receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    await self._take(message)
                except YaoheError as error:
                    refused = stream_of(message.get("text"))
                    await self._tell(Failed.of(error, None, refused).dumps())
                    bad += error.code == "invalid_request"
                if bad > MAX_BAD_MESSAGES:
                    await self._send({"type": "websocket.close", "code": CLOSE_POLICY})
                    return
        except ConnectionError:
            return
        finally:
            await self._leave()

    async def _leave(self) -> None:
        """Leave all streams waiting for a resume."""
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in self._lines.values():
            line.kept.detach(line.hearing)

    async def _take(self, message: Mapping[str, Any]) -> None:
        text = message.get("text")
        if text is None:
            raise YaoheError("invalid_request", "audio goes from server to client only")
        asked = parse_client(text)
        if isinstance(asked, Start):
            await self._start(asked)
        elif isinstance(asked, Resume):
            await self._resume(asked)
        elif isinstance(asked, Ack):
            self._line(asked.stream).kept.acknowledge(asked.seq)
            self._pace.arrived(asked.stream, asked.seq)
        else:
            _command(self._line(asked.stream).speaking, asked)

    async def _start(self, asked: Start) -> None:
        self._require_free(asked.stream)
        kept = self._sessions.open(asked.stream)
        started = Started(
            stream=asked.stream,
            token=kept.token,
            codec=asked.codec,
            grace_ms=round(self._sessions.grace_s * 1000),
            held_bytes=self._sessions.max_bytes,
        )
        speaking = Speaking(
            kept,
            asked,
            self._speak,
            self._pace,
            takes_utterance=self._takes_utterance,
        )
        # Not among the kept events: without it nobody can resume anyway.
        await self._forwarded(kept, speaking, kept.attach(), started.dumps())

    async def _resume(self, asked: Resume) -> None:
        kept = self._sessions.find(asked.token)
        if kept.number != asked.stream or not isinstance(kept.work, Speaking):
            raise YaoheError(
                "invalid_request",
                f"the token is of stream {kept.number}",
                param="stream",
            )
        before = self._lines.get(asked.stream)
        if before is None or before.kept is not kept:
            self._require_free(asked.stream)
        hearing = kept.attach(asked.seq)
        self._sessions.resumed += 1
        resumed = Resumed(stream=asked.stream, seq=asked.seq).dumps()
        await self._forwarded(kept, kept.work, hearing, resumed)

    async def _forwarded(
        self, kept: Kept, speaking: Speaking, hearing: Hearing, first: str
    ) -> None:
        """Begin to send a stream, after a first message."""
        line = self._lines[kept.number] = _Line(kept, speaking, hearing)
        await self._tell(first)
        line.task = asyncio.create_task(self._forward(line))

    def _require_free(self, number: int) -> None:
        """Refuse a number in use, and one stream too many."""
        self._lines = {
            n: line
            for n, line in self._lines.items()
            if line.is_live or not line.kept.is_closed
        }
        live = [n for n, line in self._lines.items() if line.is_live]
        if number in live:
            raise YaoheError(
                "invalid_request", f"stream {number} is open already", param="stream"
            )
        if len(live) >= MAX_LIVE:
            raise YaoheError(
                "queue_full", f"{MAX_LIVE} streams are open on this socket"
            )

    async def _forward(self, line: _Line) -> None:
        """Send what a stream gives until it is complete or heard elsewhere."""
        with contextlib.suppress(ConnectionError):
            async for item in line.hearing:
                if isinstance(item, str):
                    await self._tell(item)
                    continue
                async with self._sending:
                    await self._send({"type": "websocket.send", "bytes": pack(item)})
                self._pace.sent(item.stream, item.seq)
            line.kept.rest(line.hearing)

    async def _tell(self, event: str) -> None:
        async with self._sending:
            await self._send({"type": "websocket.send", "text": event})

    def _line(self, number: int) -> _Line:
        line = self._lines.get(number)
        if line is None or line.kept.is_closed:
            raise YaoheError("not_found", f"no stream {number} here", param="stream")
        return line


def _command(speaking: Speaking, asked: AddText | Flush | End | Cancel) -> None:
    """Hand on what a client says about a stream's text."""
    if isinstance(asked, AddText):
        try:
            speaking.add(asked.text)
        except YaoheError as error:
            speaking.fail(error)
    elif isinstance(asked, Flush):
        speaking.flush()
    elif isinstance(asked, End):
        speaking.end()
    else:
        speaking.cancel()
