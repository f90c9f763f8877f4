"""The bitrate of a stream, chosen from the round trip that acknowledgements show."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from common.audio.opus import BITRATE
from common.protocol.stream import MAX_STREAM_BITRATE, MIN_STREAM_BITRATE

STEPS = ((0.08, MAX_STREAM_BITRATE), (0.2, 48_000), (0.5, BITRATE))
"""Round trips in seconds up to which a bitrate is used; beyond, the least."""
SMOOTHING = 0.25
"""Weight of the newest round trip in the running mean."""
MAX_PENDING = 64
"""Sent frames whose acknowledgement is timed."""


class Pace:
    """Measures one socket.

    Attributes:
        round_trip_s: Running mean; None until measured.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without a measurement.

        Args:
            clock: Seconds that never run backwards.
        """
        self._clock = clock
        self._sent: OrderedDict[tuple[int, int], float] = OrderedDict()
        self.round_trip_s: float | None = None

    @property
    def bitrate(self) -> int:
        """Bits per second that suit the socket now."""
        if self.round_trip_s is None:
            return BITRATE
        for limit_s, bitrate in STEPS:
            if self.round_trip_s <= limit_s:
                return bitrate
        return MIN_STREAM_BITRATE

    def sent(self, stream: int, seq: int) -> None:
        """Note that a frame left.

        Args:
            stream: Its stream.
            seq: Its number.
        """
        self._sent[stream, seq] = self._clock()
        while len(self._sent) > MAX_PENDING:
            self._sent.popitem(last=False)

    def arrived(self, stream: int, seq: int) -> None:
        """Note an acknowledgement.

        Args:
            stream: The stream.
            seq: All frames before this one have arrived.
        """
        left = self._sent.pop((stream, seq - 1), None)
        if left is None:
            return
        took = self._clock() - left
        mean = took if self.round_trip_s is None else self.round_trip_s
        self.round_trip_s = mean + SMOOTHING * (took - mean)
