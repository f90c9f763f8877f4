"""Ogg Opus (RFC 3533, RFC 7845): pages from packets, packets from pages.

Rules of this module:

* Positions count samples at 48 kHz, whatever the sound's rate: that is the format's.
* The writer never splits a packet over pages, so every page is playable as it comes.
* The same packets and comments give the same bytes: the stream's serial number is made
  of the first packets.
* The reader takes any bytes and gives a stream or one error; every page's checksum is
  verified, so a damaged or cut file never plays.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from common.audio.pcm import SAMPLE_RATE
from common.audio.provenance import Comments
from common.audio.tags import read_comments, unreadable, write_comments
from common.errors import YaoheError

OGG_RATE = 48_000
"""Unit of every position, per second."""

PACKET_TICKS = 960
"""Length of a 20 ms packet in positions."""

MAX_PAGE_PACKETS = 50
"""Packets on a page of ours: one second, the longest that RFC 7845 advises."""
MAX_SEGMENTS = 255
SEGMENT = 255

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that the reader takes, bytes: an hour at 32 kbit/s."""
MAX_PACKETS = 200_000
"""Packets that the reader takes: an hour of 20 ms."""
MAX_SPREAD_BYTES = 256 * 1024
"""Longest packet that the reader joins over pages, bytes (comments may be long)."""

_HEADER = struct.Struct("<4sBBqIIIB")
_HEAD = struct.Struct("<8sBBHIhB")
_CONTINUED, _FIRST, _LAST = 1, 2, 4
_CRC_AT = 22
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True)
class OpusStream:
    """What an Ogg Opus file holds.

    Attributes:
        packets: Opus packets in order.
        pre_skip: Samples at 48 kHz to drop from the start.
        ticks: Samples at 48 kHz that are heard.
        comments: Name and value.
    """

    packets: tuple[bytes, ...]
    pre_skip: int
    ticks: int
    comments: Comments


def checksum(data: bytes) -> int:
    """Ogg's CRC-32, which is zlib's with every bit order turned round.

    Args:
        data: A page whose checksum field is zero.

    Returns:
        The checksum.
    """
    register = zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(
        register.to_bytes(4, "little").translate(_MIRRORED), byteorder="big"
    )


class OggWriter:
    """Writes one mono stream page by page."""

    def __init__(self, pre_skip: int, comments: Comments) -> None:
        """Begin a stream.

        Args:
            pre_skip: Samples at 48 kHz that a player drops from the start.
            comments: Name and value.
        """
        self._pre_skip = pre_skip
        self._comments = comments
        self._serial = 0
        self._sequence = 0
        self._packets = 0

    def write(self, packets: Sequence[bytes], end: int | None = None) -> bytes:
        """Lay packets out as pages; the first call writes the headers before them.

        Args:
            packets: Packets of 20 ms that follow those written before.
            end: On the last call the position where the sound ends.

        Returns:
            Whole pages.
        """
        pages = [] if self._sequence else self._headers(packets)
        position = 0
        while position < len(packets):
            count = _fitting(packets, position)
            body = packets[position : position + count]
            position += count
            self._packets += count
            is_last = end is not None and position == len(packets)
            granule = end if is_last and end is not None else self._ticks
            pages.append(self._page(body, granule, _LAST if is_last else 0))
        return b"".join(pages)

    @property
    def _ticks(self) -> int:
        return self._packets * PACKET_TICKS

    def _headers(self, packets: Sequence[bytes]) -> list[bytes]:
        """The identification page and the comment page."""
        self._serial = zlib.crc32(b"".join(packets[:MAX_PAGE_PACKETS]))
        head = _HEAD.pack(b"OpusHead", 1, 1, self._pre_skip, SAMPLE_RATE, 0, 0)
        tags = b"OpusTags" + write_comments(self._comments)
        if len(tags) >= SEGMENT * MAX_SEGMENTS:
            raise YaoheError("invalid_request", "The comments are too long.")
        return [self._page([head], 0, _FIRST), self._page([tags], 0, 0)]

    def _page(self, packets: Sequence[bytes], granule: int, flags: int) -> bytes:
        lacing = b"".join(_lacing(len(packet)) for packet in packets)
        fields = (b"OggS", 0, flags, granule, self._serial, self._sequence)
        header = _HEADER.pack(*fields, 0, len(lacing))
        page = b"".join((header, lacing, *packets))
        self._sequence += 1
        crc = checksum(page).to_bytes(4, "little")
        return page[:_CRC_AT] + crc + page[_CRC_AT + 4 :]


def _lacing(size: int) -> bytes:
    return b"\xff" * (size // SEGMENT) + bytes((size % SEGMENT,))


def _fitting(packets: Sequence[bytes], start: int) -> int:
    """How many packets from ``start`` on fit onto one page."""
    segments = 0
    for count, packet in enumerate(packets[start : start + MAX_PAGE_PACKETS]):
        segments += len(packet) // SEGMENT + 1
        if segments > MAX_SEGMENTS:
            return count
    return min(MAX_PAGE_PACKETS, len(packets) - start)


@dataclass(frozen=True)
class _Page:
    flags: int
    granule: int
    serial: int
    sequence: int
    lacing: bytes
    body: bytes
    end: int


def _page_at(data: bytes, at: int) -> _Page:
    """The page that begins at ``at``, checked."""
    if at + _HEADER.size > len(data):
        unreadable("it ends inside a page")
    magic, version, flags, granule, serial, sequence, crc, count = _HEADER.unpack_from(
        data, at
    )
    if magic != b"OggS" or version != 0:
        unreadable("a page does not begin where it should")
    start = at + _HEADER.size + count
    lacing = data[at + _HEADER.size : start]
    end = start + sum(lacing)
    if len(lacing) < count or end > len(data):
        unreadable("it ends inside a page")
    bare = data[at : at + _CRC_AT] + bytes(4) + data[at + _CRC_AT + 4 : end]
    if checksum(bare) != crc:
        unreadable("a checksum is wrong")
    return _Page(flags, granule, serial, sequence, lacing, data[start:end], end)


def read_ogg(data: bytes) -> OpusStream:
    """Take an Ogg Opus file apart.

    Args:
        data: A whole file with one mono stream.

    Returns:
        Its packets, lengths and comments.

    Raises:
        YaoheError: ``invalid_request`` for anything else.
    """
    if len(data) > MAX_FILE_BYTES:
        unreadable("it is too large")
    packets, granule = _packets(data)
    if len(packets) < 3:
        unreadable("it holds no sound")
    head, tags, *sound = packets
    if len(head) < _HEAD.size or not head.startswith(b"OpusHead"):
        unreadable("it is not Opus")
    _, version, channels, pre_skip, _, gain, family = _HEAD.unpack_from(head)
    if version >> 4 or channels != 1 or gain or family:
        unreadable("it is not one plain channel")
    if not tags.startswith(b"OpusTags"):
        unreadable("it has no comment header")
    if granule <= pre_skip:
        unreadable("it holds no sound")
    return OpusStream(
        tuple(sound), pre_skip, granule - pre_skip, read_comments(tags[8:])
    )


def _packets(data: bytes) -> tuple[list[bytes], int]:
    """All packets of the one stream in ``data``, and its last position."""
    packets: list[bytes] = []
    partial = b""
    at = sequence = granule = 0
    serial: int | None = None
    while True:
        page = _page_at(data, at)
        is_first = serial is None
        if is_first:
            serial = page.serial
        if page.serial != serial or page.sequence != sequence:
            unreadable("a page is missing")
        if bool(page.flags & _FIRST) != is_first:
            unreadable("it holds more than one stream")
        if bool(page.flags & _CONTINUED) != bool(partial):
            unreadable("a packet is cut")
        partial = _split(page, partial, packets)
        if len(partial) > MAX_SPREAD_BYTES or len(packets) > MAX_PACKETS:
            unreadable("it is too large")
        granule = page.granule
        sequence += 1
        at = page.end
        if page.flags & _LAST:
            break
    if partial or at != len(data):
        unreadable("it does not end where it says")
    return packets, granule


def _split(page: _Page, partial: bytes, packets: list[bytes]) -> bytes:
    """Append the packets that end on this page; return what stays open."""
    start = end = 0
    for size in page.lacing:
        end += size
        if size < SEGMENT:
            packets.append(partial + page.body[start:end])
            partial, start = b"", end
    return partial + page.body[start:end]
