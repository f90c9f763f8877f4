"""Streams that survive their sockets: what is sent is kept until it is acknowledged.

Rules of this module:

* What was not acknowledged stays for ``grace_s`` after the socket broke; whoever brings
  the token goes on at the frame that is missing, with the same payloads.
* A producer waits while its stream holds ``max_bytes``; what all streams hold together
  is bounded by ``budget_bytes``: the streams that nobody listens to leave first.
* When the grace is over the stream is closed and its work with it.
* One socket listens to a stream; the newest one that brings the token wins.

Everything runs in one event loop; nothing here knows a framework.
"""

from __future__ import annotations

from collections import OrderedDict

from common.errors import YaoheError
from common.kept import Kept

GRACE_S = 60.0
"""Seconds that a stream waits for its client."""
MAX_HELD_BYTES = 2 << 20
"""Unacknowledged bytes of one stream; 43 seconds of pcm, minutes of Opus."""
BUDGET_BYTES = 64 << 20
"""Unacknowledged bytes of all streams."""
MAX_STREAMS = 256
"""Streams at the same time, those that wait for their client included."""
RETRY_AFTER_S = 5
"""When to ask again where no stream is free."""


class Sessions:
    """All streams of a server.

    Attributes:
        grace_s: Seconds that a stream waits for its client.
        max_bytes: Unacknowledged bytes of one stream.
        held: Bytes that all streams hold.
        opened: Streams begun since the start.
        resumed: Times that a client came back to its stream.
        lost: Streams that were closed before their end.
    """

    def __init__(
        self,
        *,
        grace_s: float = GRACE_S,
        max_bytes: int = MAX_HELD_BYTES,
        budget_bytes: int = BUDGET_BYTES,
        max_streams: int = MAX_STREAMS,
    ) -> None:
        """Start without any.

        Args:
            grace_s: Seconds that a stream waits for its client.
            max_bytes: Unacknowledged bytes of one stream.
            budget_bytes: The same of all streams.
            max_streams: Streams at the same time.
        """
        self.grace_s = grace_s
        self.max_bytes = max_bytes
        self.held = 0
        self.opened = self.resumed = self.lost = 0
        self._budget = budget_bytes
        self._max_streams = max_streams
        self._streams: OrderedDict[str, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._streams)

    def open(self, number: int) -> Kept:
        """Open a stream.

        Args:
            number: Its number on its socket.

        Returns:
            The stream; nobody listens yet.

        Raises:
            YaoheError: ``queue_full``.
        """
        if len(self._streams) >= self._max_streams and not self._drop_one():
            raise YaoheError(
                "queue_full",
                f"{len(self._streams)} streams are open already",
                retry_after_s=RETRY_AFTER_S,
            )
        kept = Kept(number, self)
        self._streams[kept.token] = kept
        self.opened += 1
        return kept

    def find(self, token: str) -> Kept:
        """The stream of a token.

        Args:
            token: What ``started`` gave.

        Returns:
            The stream.

        Raises:
            YaoheError: ``not_found``: there is none, or its grace is over.
        """
        kept = self._streams.get(token)
        if kept is None:
            raise YaoheError(
                "not_found",
                f"no stream has this token; they are kept {self.grace_s:g} s",
                param="token",
            )
        return kept

    def has_room(self, kept: Kept) -> bool:
        """Whether a stream may hold more; may close one that nobody listens to."""
        # The receipt of a long text may be larger: without a frame after it nothing
        # could be acknowledged, and the stream would stand still.
        if kept.held >= self.max_bytes and kept.has_frames:
            return False
        while self.held >= self._budget:
            if not self._drop_one(kept):
                return False
        return not kept.is_closed

    def wake(self) -> None:
        """Let all producers look for room again."""
        for kept in self._streams.values():
            kept.wake()

    def forget(self, kept: Kept) -> None:
        """Take a closed stream out."""
        if self._streams.pop(kept.token, None) is not None:
            self.lost += not kept.is_complete

    def close(self) -> None:
        """Close every stream."""
        for kept in list(self._streams.values()):
            kept.close()

    def _drop_one(self, spared: Kept | None = None) -> bool:
        """Close the oldest stream that nobody listens to, finished ones first."""
        unheard = [
            one
            for one in self._streams.values()
            if one is not spared and not (one.is_heard and not one.is_complete)
        ]
        if not unheard:
            return False
        min(unheard, key=lambda one: not one.is_complete).close()
        return True
