"""The box's one socket to the cloud: many calls, and it comes back when it breaks.

Rules: calls survive the socket, a new one resumes them where they were; what has been
taken out of a call is acknowledged, so that the cloud holds no more than it must; a
cloud that does not answer is asked again after a pause that grows and jitters.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import deque
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from common.errors import YaoheError
from common.protocol.frames import MAX_FRAME_BYTES, MAX_STREAM, Flags, Frame, unpack
from common.protocol.stream import (
    MAX_TOLD_BYTES,
    Ack,
    Cancel,
    Ended,
    Failed,
    Resume,
    Resumed,
    ServerMessage,
    Started,
)
from common.protocol.stream_text import parse_server

OPEN_TIMEOUT_S = 5.0
PING_S = 5.0
"""How often a quiet socket is tried, and how long the answer may take."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.1, 10.0
"""Pauses between tries to connect."""
ACK_EVERY = 10
"""Frames between acknowledgements."""

log = logging.getLogger(__name__)

Heard = ServerMessage | Frame


class Call:
    """One stream of the cloud.

    Attributes:
        number: Its number on the socket.
        start: The message that opens it.
        token: Resumes it, once known.
        is_over: Whether everything has come.
    """

    def __init__(self, number: int, start: str, link: CloudSocket) -> None:
        """Made by :meth:`CloudSocket.call` only."""
        self.number = number
        self.start = start
        self.token: str | None = None
        self.is_over = False
        self._link = link
        self._heard: deque[Heard | YaoheError] = deque()
        self._news = asyncio.Event()
        self._next = 0
        self._taken = 0

    @property
    def is_cut(self) -> bool:
        """Whether the socket is gone at the moment."""
        return not self._link.is_connected

    def opening(self) -> str:
        """What a fresh socket must hear about this call."""
        if self.token is None:
            return self.start
        return Resume(stream=self.number, token=self.token, seq=self._next).dumps()

    def take(self, item: Heard) -> None:
        """Put in what the cloud sent.

        Args:
            item: A frame or a message of this stream.
        """
        if isinstance(item, Frame):
            if item.seq < self._next:
                return
            if item.seq > self._next:
                self.fail(YaoheError("voice_unavailable", "the cloud lost a frame"))
                return
            self._next += 1
            if item.flags & Flags.LAST and not item.payload:
                return
        elif isinstance(item, Started):
            self.token = item.token
            return
        elif isinstance(item, Resumed):
            return
        elif isinstance(item, Failed):
            self.fail(item.raised())
            return
        self._put(item, is_last=isinstance(item, Ended))

    def fail(self, error: YaoheError) -> None:
        """End it with an error.

        Args:
            error: Why.
        """
        self._put(error, is_last=True)

    def _put(self, item: Heard | YaoheError, *, is_last: bool) -> None:
        if self.is_over:
            return
        self._heard.append(item)
        self.is_over = is_last
        self._news.set()

    async def next(self) -> Heard:
        """The next frame or message.

        Returns:
            It; the last one is ``Ended``.

        Raises:
            YaoheError: The cloud ended the stream with an error.
        """
        while not self._heard:
            self._news.clear()
            await self._news.wait()
        item = self._heard.popleft()
        if isinstance(item, YaoheError):
            self._link.drop(self)
            raise item
        if isinstance(item, Frame):
            self._taken = item.seq + 1
            if self._taken % ACK_EVERY == 0:
                self._link.tell(Ack(stream=self.number, seq=self._taken).dumps())
        if isinstance(item, Ended):
            self._link.tell(Ack(stream=self.number, seq=self._next).dumps())
            self._link.drop(self)
        return item

    def cancel(self) -> None:
        """Want no more of it."""
        if not self.is_over:
            self._link.tell(Cancel(stream=self.number).dumps())
        self._link.drop(self)


class CloudSocket:
    """Keeps one socket to the cloud."""

    def __init__(self, url: str) -> None:
        """Prepare; :meth:`start` connects.

        Args:
            url: ``ws://`` or ``wss://`` address of the cloud's ``/v1/stream``.
        """
        self._url = url
        self._socket: ClientConnection | None = None
        self._calls: dict[int, Call] = {}
        self._number = 0
        self._outbox: asyncio.Queue[str] = asyncio.Queue()
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether the cloud is at the other end."""
        return self._socket is not None

    def start(self) -> None:
        """Connect, and keep connected; needs a running loop."""
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Hang up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def call(self, start: dict[str, Any]) -> Call:
        """Open a stream.

        Args:
            start: The fields of ``start`` but for the stream's number.

        Returns:
            The call.
        """
        self._number = self._number % MAX_STREAM + 1
        opening = json.dumps({**start, "type": "start", "stream": self._number})
        call = Call(self._number, opening, self)
        self._calls[call.number] = call
        if self.is_connected:
            self.tell(opening)
        self._wanted.set()
        return call

    def drop(self, call: Call) -> None:
        """Forget a call that is over."""
        self._calls.pop(call.number, None)

    def tell(self, message: str) -> None:
        """Send a message, if the cloud is there; a resume makes up for lost ones."""
        if self.is_connected:
            self._outbox.put_nowait(message)

    async def _keep(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with connect(
                    self._url,
                    compression=None,
                    max_size=max(MAX_TOLD_BYTES, MAX_FRAME_BYTES),
                    open_timeout=OPEN_TIMEOUT_S,
                    close_timeout=1.0,
                    ping_interval=PING_S,
                    ping_timeout=PING_S,
                    proxy=None,
                ) as socket:
                    pause_s = FIRST_PAUSE_S
                    await self._serve(socket)
            except (OSError, WebSocketException, asyncio.TimeoutError) as error:
                log.debug("no cloud: %s", error)
            self._wanted.clear()
            spread = random.uniform(0.5, 1.5)  # noqa: S311 - spreads shops in time
            try:
                # A call in need does not sit the longer pauses out.
                await asyncio.wait_for(self._wanted.wait(), pause_s * spread)
                await asyncio.sleep(FIRST_PAUSE_S)
            except asyncio.TimeoutError:
                pass
            pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _serve(self, socket: ClientConnection) -> None:
        """Use one socket until it breaks."""
        self._outbox = asyncio.Queue()
        for call in self._calls.values():
            self._outbox.put_nowait(call.opening())
        self._socket = socket
        sending = asyncio.create_task(self._send(socket))
        try:
            async for data in socket:
                self._take(data)
        finally:
            self._socket = None
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            await socket.send(await self._outbox.get())

    def _take(self, data: str | bytes) -> None:
        try:
            item = unpack(data) if isinstance(data, bytes) else parse_server(data)
        except YaoheError as error:
            log.warning("the cloud sent what is no message: %s", error.message)
            return
        number = item.stream
        if isinstance(item, Failed) and number is None:
            number = item.refused
        call = self._calls.get(number) if number is not None else None
        if call is not None:
            call.take(item)
