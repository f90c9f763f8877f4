"""One stream as it is kept: what was not acknowledged, in its order, and who listens.

Rules: a listener gets everything from the frame on that it asks for; frames that were
sent before say so; the producer waits while there is no room.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from common.errors import YaoheError
from common.protocol.frames import HEADER_BYTES, Flags, Frame
from common.protocol.stream import TOKEN_BYTES

if TYPE_CHECKING:
    from common.sessions import Sessions


@dataclass(frozen=True)
class Item:
    """A frame or an event in a stream's order.

    Attributes:
        seq: The frame's number; of an event, the number of the next frame.
        frame: The frame; None for an event.
        event: The control message; None for a frame.
    """

    seq: int
    frame: Frame | None = None
    event: str | None = None

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        if self.frame is not None:
            return HEADER_BYTES + len(self.frame.payload)
        return len(self.event or "")


class Work(Protocol):
    """What fills a stream."""

    def stop(self) -> None:
        """Stop at once; may be called when it has ended."""


class Hearing(AsyncIterator["Frame | str"]):
    """One socket's way through a stream."""

    def __init__(self, kept: Kept) -> None:
        """Made by :meth:`Kept.attach` only."""
        self._kept = kept

    async def __anext__(self) -> Frame | str:
        """The next frame or control message."""
        heard = await self._kept.next_for(self)
        if heard is None:
            raise StopAsyncIteration
        return heard


class Kept:
    """One stream: what is not acknowledged, and who listens.

    Attributes:
        token: Resumes it.
        number: Its number on its socket.
        held: Bytes that are kept.
        frames: Frames so far.
        is_complete: Whether its last event is in.
        work: What fills it; stopped when the stream is closed.
    """

    def __init__(self, number: int, sessions: Sessions) -> None:
        """Made by :meth:`Sessions.open` only."""
        self.token = secrets.token_hex(TOKEN_BYTES)
        self.number = number
        self.held = 0
        self.frames = 0
        self.is_complete = False
        self.is_closed = False
        self.work: Work | None = None
        self._sessions = sessions
        self._items: deque[Item] = deque()
        self._next = 0
        self._sent_to = 0
        self._listener: Hearing | None = None
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_heard(self) -> bool:
        """Whether a socket listens."""
        return self._listener is not None

    @property
    def has_frames(self) -> bool:
        """Whether a frame waits for its acknowledgement."""
        return any(item.frame is not None for item in self._items)

    async def put(self, frame: Frame) -> None:
        """Add a frame; waits while the stream is full.

        Args:
            frame: The next frame; its ``seq`` is :attr:`frames`.

        Raises:
            asyncio.CancelledError: The stream was closed meanwhile.
        """
        while not self.is_closed and not self._sessions.has_room(self):
            self._room.clear()
            await self._room.wait()
        if self.is_closed:
            raise asyncio.CancelledError
        self._add(Item(frame.seq, frame=frame))
        self.frames += 1

    def finish(self, frame: Frame, *events: str) -> None:
        """Add the last frame and the events after it, whether or not there is room.

        Args:
            frame: The last frame, empty.
            *events: Control messages.
        """
        if self.is_closed or self.is_complete:
            return
        self._add(Item(frame.seq, frame=frame))
        self.frames += 1
        for event in events:
            self.tell(event)
        self.is_complete = True

    def tell(self, event: str) -> None:
        """Add an event at this place.

        Args:
            event: A control message.
        """
        if not self.is_closed:
            self._add(Item(self.frames, event=event))

    def _add(self, item: Item) -> None:
        self._items.append(item)
        self.held += item.size
        self._sessions.held += item.size
        self._news.set()

    def acknowledge(self, seq: int) -> None:
        """Let go of what has arrived.

        Args:
            seq: All frames before this one have.

        Raises:
            YaoheError: ``invalid_request`` for frames that were never sent.
        """
        if seq > self._sent_to:
            raise YaoheError(
                "invalid_request",
                f"stream {self.number}: frame {seq - 1} was never sent",
                param="seq",
            )
        while self._items and self._is_past(self._items[0], seq):
            item = self._items.popleft()
            self._next = max(0, self._next - 1)
            self.held -= item.size
            self._sessions.held -= item.size
        self._sessions.wake()

    @staticmethod
    def _is_past(item: Item, seq: int) -> bool:
        """Whether one who has all frames before ``seq`` has the item.

        An event before frame n is certain to have arrived only when frame n has.
        """
        return item.seq < seq

    def wake(self) -> None:
        """Let the producer look for room again."""
        self._room.set()

    def attach(self, seq: int | None = None) -> Hearing:
        """Listen; whoever listened before hears no more.

        Args:
            seq: The first frame wanted; None for a stream that nobody heard yet.

        Returns:
            Frames and control messages in order, until the stream is complete or
            another socket listens.

        Raises:
            YaoheError: ``invalid_request`` for a frame that was let go or never sent.
        """
        if seq is not None:
            self.acknowledge(seq)
            if (self._items[0].seq if self._items else self.frames) > seq:
                raise YaoheError(
                    "invalid_request", f"frame {seq} was let go", param="seq"
                )
        self._next = 0
        self._stop_waiting()
        self._listener = Hearing(self)
        # Whoever listened before must notice.
        self._news.set()
        return self._listener

    async def next_for(self, hearing: Hearing) -> Frame | str | None:
        """The next thing that a listener has not heard.

        Args:
            hearing: Who listens.

        Returns:
            A frame or a control message; None when there is no more for it.
        """
        while self._listener is hearing and not self.is_closed:
            if self._next >= len(self._items):
                if self.is_complete:
                    return None
                self._news.clear()
                await self._news.wait()
                continue
            item = self._items[self._next]
            self._next += 1
            if item.frame is None:
                return item.event or ""
            frame = item.frame
            if frame.seq < self._sent_to:
                frame = replace(frame, flags=frame.flags | Flags.REPLAYED)
            self._sent_to = max(self._sent_to, frame.seq + 1)
            return frame
        return None

    def detach(self, hearing: Hearing) -> None:
        """A listener's socket broke: wait for the client, then close.

        Args:
            hearing: Who listened; nothing happens where another does by now.
        """
        if self._listener is hearing:
            self._listener = None
            self._wait()

    def rest(self, hearing: Hearing) -> None:
        """A listener has heard everything: keep it for a last resume, then close.

        Args:
            hearing: Who listened; nothing happens where another does by now.
        """
        if self._listener is hearing:
            self._wait()

    def _wait(self) -> None:
        if self._timer is None and not self.is_closed:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._sessions.grace_s, self.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Forget everything and stop the work."""
        if self.is_closed:
            return
        self.is_closed = True
        self._sessions.forget(self)
        self._sessions.held -= self.held
        self.held = 0
        self._items.clear()
        self._news.set()
        self._room.set()
        self._stop_waiting()
        if self.work is not None:
            self.work.stop()
        self._sessions.wake()
