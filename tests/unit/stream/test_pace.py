from __future__ import annotations

import pytest

from common.protocol.stream import MAX_STREAM_BITRATE, MIN_STREAM_BITRATE
from common.streaming.pace import MAX_PENDING, Pace


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("round_trip_s", "bitrate"),
    [
        (0.01, MAX_STREAM_BITRATE),
        (0.15, 48_000),
        (0.4, 32_000),
        (2, MIN_STREAM_BITRATE),
    ],
)
def test_the_longer_the_way_the_fewer_the_bits(
    round_trip_s: float, bitrate: int
) -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.bitrate == 32_000
    pace.sent(1, 0)
    clock.now = round_trip_s
    pace.arrived(1, 1)
    assert pace.bitrate == bitrate


def test_a_client_that_never_acknowledges_fills_no_memory() -> None:
    pace = Pace()
    for seq in range(MAX_PENDING * 3):
        pace.sent(1, seq)
    pace.arrived(1, 1)
    assert pace.round_trip_s is None
    pace.arrived(1, MAX_PENDING * 3)
    assert pace.round_trip_s is not None
