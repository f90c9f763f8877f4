from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.audio.ogg import OggWriter, checksum, read_ogg
from common.audio.opus import OpusMaster, encode_master
from common.audio.pcm import Pcm
from common.audio.provenance import Provenance
from common.errors import YaoheError

PACKET = b"\x58" + bytes(range(60))


def plain_checksum(data: bytes) -> int:
    """The standard's own words: bit by bit, highest first."""
    register = 0
    for byte in data:
        register ^= byte << 24
        for _ in range(8):
            carry = register & 0x8000_0000
            register = (register << 1) & 0xFFFF_FFFF
            register ^= 0x04C1_1DB7 if carry else 0
    return register


def code_of(call: Callable[[], object]) -> str | None:
    """The code that a call fails with; None where it gives a value."""
    try:
        call()
    except YaoheError as error:
        return error.code
    return None


def file_of(packets: list[bytes], samples: int = 1000) -> bytes:
    return OggWriter(312, (("A", "b"),)).write(packets, 312 + 2 * samples)


@given(st.binary(max_size=600))
def test_the_checksum_is_the_one_of_the_standard(data: bytes) -> None:
    assert checksum(data) == plain_checksum(data)


@pytest.mark.parametrize("size", [1, 254, 255, 256, 510, 1275])
@pytest.mark.parametrize("count", [3, 50, 51, 200])
def test_packets_of_every_size_come_back(size: int, count: int) -> None:
    packets = [PACKET[:1] + bytes(size - 1)] * count
    assert list(read_ogg(file_of(packets)).packets) == packets


def test_pages_written_one_by_one_are_one_stream() -> None:
    writer = OggWriter(312, ())
    data = b"".join(writer.write([PACKET] * count) for count in (1, 2, 60))
    data += writer.write([PACKET], end=40_000)
    stream = read_ogg(data)
    assert len(stream.packets) == 64
    assert stream.ticks == 40_000 - 312
    assert data.count(b"OpusHead") == 1


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_one_changed_byte_is_noticed(at: int) -> None:
    data = bytearray(file_of([PACKET] * 5))
    data[at % len(data)] ^= 0x40
    with pytest.raises(YaoheError):
        read_ogg(bytes(data))


@pytest.mark.parametrize("left", range(0, 500, 13))
def test_a_cut_file_is_noticed(left: int) -> None:
    data = file_of([PACKET] * 80)
    with pytest.raises(YaoheError):
        read_ogg(data[:left])
    with pytest.raises(YaoheError):
        read_ogg(data[: -1 - left])


def test_two_files_in_a_row_are_not_one() -> None:
    with pytest.raises(YaoheError):
        read_ogg(file_of([PACKET]) + file_of([PACKET]))


def test_a_missing_page_is_noticed() -> None:
    writer = OggWriter(312, ())
    pages = [writer.write([PACKET]), writer.write([PACKET])]
    last = writer.write([PACKET], 2000)
    assert len(read_ogg(b"".join((*pages, last))).packets) == 3
    with pytest.raises(YaoheError):
        read_ogg(pages[0] + last)


@pytest.mark.parametrize("samples", [0, -5, 10_000])
def test_a_length_that_its_packets_cannot_have_is_refused(samples: int) -> None:
    with pytest.raises(YaoheError):
        OpusMaster.from_bytes(file_of([PACKET] * 5, samples))


@pytest.mark.parametrize("toc", [0x00, 0x5C, 0x59, 0xF0])
def test_packets_that_are_not_20_ms_of_one_channel_are_refused(toc: int) -> None:
    with pytest.raises(YaoheError):
        OpusMaster.from_bytes(file_of([bytes((toc,)) + PACKET] * 5))


@given(st.binary(max_size=2000))
def test_any_bytes_give_a_value_or_our_error(data: bytes) -> None:
    for attempt in (data, b"OggS\0" + data, file_of([PACKET]) + data):
        code = code_of(partial(OpusMaster.from_bytes, attempt))
        assert code in (None, "invalid_request")


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6))
def test_pages_with_right_checksums_and_wrong_fields_are_survived(
    edits: list[tuple[int, int]],
) -> None:
    data = bytearray(file_of([PACKET] * 3))
    for at, value in edits:
        data[at % len(data)] = value
    mended = mend(bytes(data))
    code = code_of(partial(OpusMaster.from_bytes, mended))
    assert code in (None, "invalid_request")


def mend(data: bytes) -> bytes:
    """Give every page that still has a shape its checksum."""
    out, at = b"", 0
    while data[at : at + 4] == b"OggS" and at + 27 <= len(data):
        count = data[at + 26]
        end = at + 27 + count + sum(data[at + 27 : at + 27 + count])
        bare = data[at : at + 22] + bytes(4) + data[at + 26 : end]
        crc = checksum(bare).to_bytes(4, "little")
        out += bare[:22] + crc + bare[26:]
        at = end
    return out + data[at:]


def test_comments_too_long_for_a_page_are_refused(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    many = provenance.comments() + (("X", "y" * 16_000),) * 5
    with pytest.raises(YaoheError):
        encode_master(sound(960)).to_bytes(many)
