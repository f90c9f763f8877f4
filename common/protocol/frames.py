"""Audio frames: the binary messages of ``/v1/stream``.

A frame is a header of 20 bytes, big-endian, and a payload; one WebSocket message holds
exactly one frame:

    0        1        2        4        8        12                 20
    version  codec    flags    stream   seq      timestamp          payload
    u8       u8       u16      u32      u32      u64 (samples)

Rules of this module:

* ``seq`` counts from 0 in each stream without a gap; ``timestamp`` is the number of
  samples before this frame at the stream's rate.
* Bytes that are no frame give ``invalid_request``; nothing else leaves :func:`unpack`.
* A receiver ignores flags it does not know. An unknown version or codec is refused,
  since its payload would be noise.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from common.errors import YaoheError

FRAME_VERSION = 1
HEADER_BYTES = 20
MAX_PAYLOAD_BYTES = 64 * 1024
"""Longest payload: 1.3 seconds of pcm16 at 24 kHz, any Opus packet."""
MAX_FRAME_BYTES = HEADER_BYTES + MAX_PAYLOAD_BYTES
MAX_STREAM = 2**32 - 1
MAX_SEQ = 2**32 - 1
MAX_TIMESTAMP = 2**64 - 1
"""In samples."""

_HEADER = struct.Struct(">BBHIIQ")


class Codec(IntEnum):
    """How a payload is coded; numbers are only ever added.

    Attributes:
        OPUS: One Opus packet of 20 ms, 24 kHz mono.
        PCM16: Signed 16-bit little-endian samples, 24 kHz mono.
    """

    OPUS = 1
    PCM16 = 2


class Flags(IntFlag):
    """What else a frame says; bits are only ever added.

    Attributes:
        LAST: No frame follows in this stream.
        REPLAYED: The frame was sent before the socket broke.
        DISCONTINUITY: The decoder starts afresh: another source goes on from here.
    """

    LAST = 1
    REPLAYED = 2
    DISCONTINUITY = 4


NO_FLAGS = Flags(0)
SAMPLE_BYTES = 2
"""Bytes of one pcm16 sample."""


@dataclass(frozen=True)
class Frame:
    """One piece of a stream.

    Attributes:
        stream: Number of the stream on its socket.
        seq: Place in the stream, from 0.
        timestamp: Samples before this frame.
        codec: How ``payload`` is coded.
        payload: Coded audio; empty only in a frame that is the last.
        flags: What else it says.
    """

    stream: int
    seq: int
    timestamp: int
    codec: Codec
    payload: bytes
    flags: Flags = NO_FLAGS


def _check(frame: Frame) -> None:
    """Refuse what the format does not hold."""
    size = len(frame.payload)
    if size > MAX_PAYLOAD_BYTES:
        raise _refused(f"a payload of {size} bytes, at most {MAX_PAYLOAD_BYTES}")
    if size == 0 and not frame.flags & Flags.LAST:
        raise _refused("an empty payload before the last frame")
    if frame.codec is Codec.PCM16 and size % SAMPLE_BYTES:
        raise _refused("half a sample of pcm16")


def pack(frame: Frame) -> bytes:
    """Write a frame.

    Args:
        frame: A frame within the limits.

    Returns:
        Header and payload.

    Raises:
        YaoheError: ``invalid_request``: a field is outside its limits.
    """
    _check(frame)
    for name, value, limit in (
        ("stream", frame.stream, MAX_STREAM),
        ("seq", frame.seq, MAX_SEQ),
        ("timestamp", frame.timestamp, MAX_TIMESTAMP),
    ):
        if not 0 <= value <= limit:
            raise _refused(f"{name} outside 0 to {limit}")
    head = (FRAME_VERSION, frame.codec, frame.flags, frame.stream, frame.seq)
    return _HEADER.pack(*head, frame.timestamp) + frame.payload


def unpack(data: bytes) -> Frame:
    """Read a frame.

    Args:
        data: One binary message.

    Returns:
        The frame, flags that nobody knows removed.

    Raises:
        YaoheError: ``invalid_request``: the bytes are no frame.
    """
    if len(data) < HEADER_BYTES:
        raise _refused(f"{len(data)} bytes, shorter than a header")
    version, codec, flags, stream, seq, timestamp = _HEADER.unpack_from(data)
    if version != FRAME_VERSION:
        raise _refused(f"version {version}, known is {FRAME_VERSION}")
    try:
        known = Codec(codec)
    except ValueError:
        raise _refused(f"unknown codec {codec}") from None
    payload = bytes(data[HEADER_BYTES:])
    frame = Frame(stream, seq, timestamp, known, payload, Flags(flags & _ALL_FLAGS))
    _check(frame)
    return frame


_ALL_FLAGS = sum(Flags)


def _refused(reason: str) -> YaoheError:
    """The error for bytes or fields that are no frame."""
    return YaoheError("invalid_request", f"not an audio frame: {reason}")
