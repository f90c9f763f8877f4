"""Audio frames: limits, and bytes from strangers."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol.frames import (
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SEQ,
    MAX_STREAM,
    MAX_TIMESTAMP,
    Codec,
    Flags,
    Frame,
    pack,
    unpack,
)

FRAMES = st.builds(
    Frame,
    stream=st.integers(0, MAX_STREAM),
    seq=st.integers(0, MAX_SEQ),
    timestamp=st.integers(0, MAX_TIMESTAMP),
    codec=st.just(Codec.OPUS),
    payload=st.binary(min_size=1, max_size=200),
    flags=st.integers(0, 7).map(Flags),
)


def _attempt(data: bytes) -> Frame | YaoheError:
    try:
        return unpack(data)
    except YaoheError as error:
        return error


def _read(data: bytes) -> None:
    result = _attempt(data)
    if isinstance(result, YaoheError):
        assert result.code == "invalid_request"
    else:
        assert unpack(pack(result)) == result


@given(FRAMES)
def test_a_frame_comes_back_as_it_was(frame: Frame) -> None:
    assert unpack(pack(frame)) == frame


@given(st.binary(max_size=64))
@example(bytes(HEADER_BYTES))
def test_any_bytes_give_a_frame_or_an_error_of_ours(data: bytes) -> None:
    _read(data)


@given(FRAMES, st.integers(0, HEADER_BYTES + 199), st.integers(0, 255))
def test_a_flipped_byte_gives_a_frame_or_an_error_of_ours(
    frame: Frame, place: int, value: int
) -> None:
    data = bytearray(pack(frame))
    data[place % len(data)] = value
    _read(bytes(data))


def test_the_longest_payload_passes_and_one_byte_more_does_not() -> None:
    longest = Frame(1, 0, 0, Codec.OPUS, bytes(MAX_PAYLOAD_BYTES))
    data = pack(longest)
    assert unpack(data) == longest
    with pytest.raises(YaoheError, match="at most"):
        unpack(data + b"\0")
    with pytest.raises(YaoheError, match="at most"):
        pack(Frame(1, 0, 0, Codec.OPUS, bytes(MAX_PAYLOAD_BYTES + 1)))


@pytest.mark.parametrize(
    ("stream", "seq", "timestamp"),
    [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (2**32, 0, 0), (0, 2**32, 0), (0, 0, 2**64)],
)
def test_a_number_that_does_not_fit_is_refused(
    stream: int, seq: int, timestamp: int
) -> None:
    with pytest.raises(YaoheError, match="outside"):
        pack(Frame(stream, seq, timestamp, Codec.OPUS, b"x"))


def test_a_flag_of_a_later_version_is_ignored() -> None:
    data = bytearray(pack(Frame(1, 0, 0, Codec.OPUS, b"x", Flags.LAST)))
    data[2] = 0xFF
    assert unpack(bytes(data)).flags == Flags.LAST
