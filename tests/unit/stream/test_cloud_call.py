from __future__ import annotations

import pytest

from common.errors import YaoheError
from common.protocol.frames import Codec, Frame
from edge.cloud_socket import CloudSocket


def frame(seq: int) -> Frame:
    return Frame(1, seq, seq * 480, Codec.PCM16, bytes([seq, 0]))


async def test_a_frame_that_comes_twice_is_heard_once() -> None:
    call = CloudSocket("ws://127.0.0.1:9/").call({})
    for seq in (0, 1, 1, 0, 2):
        call.take(frame(seq))
    assert [await call.next() for _ in range(3)] == [frame(0), frame(1), frame(2)]


async def test_a_frame_that_is_missing_ends_the_call() -> None:
    call = CloudSocket("ws://127.0.0.1:9/").call({})
    call.take(frame(0))
    call.take(frame(2))
    assert await call.next() == frame(0)
    with pytest.raises(YaoheError, match="lost a frame"):
        await call.next()
