"""MP3 through LAME: constant bitrate, comments in front, exact length where known.

Rules of this module:

* Comments are ID3v2.3 ``TXXX`` frames in one tag before the sound. Their text is
  ASCII; what is not, is escaped by whoever wrote the value.
* A whole file begins with an ``Info`` frame that tells players how many samples the
  codec added at either end, so that they hear exactly what was encoded. A stream cannot
  know its end: it is up to 0.1 s longer than the sound, and never shorter.
"""

from __future__ import annotations

from typing import Any

from common.audio.library import load
from common.audio.pcm import SAMPLE_RATE, Pcm, to_s16
from common.audio.provenance import MAX_VALUE, Comments
from common.audio.tags import MAX_COMMENTS, unreadable

BITRATE_KBPS = 64
"""Kilobits per second."""
QUALITY = 5
"""LAME's effort, 0 best and slowest to 9."""

FRAME = 576
"""Samples of a frame at 24 kHz."""
ENCODER_DELAY = 576
"""Samples that LAME puts before the sound; players add the decoder's own 529."""

_INFO_AT = 4 + 9
"""Where ``Info`` stands: after the frame's header and a mono frame's side data."""
_INFO_FLAGS = 3
"""The Info frame holds a count of frames and of bytes."""
_TAG_BYTES = 190
"""Bytes that the Info frame's checksum covers."""
_MAX_ID3 = MAX_COMMENTS * MAX_VALUE


def _lame() -> Any:
    return load("lameenc", (), "mp3 needs lameenc: pip install lameenc")


class Mp3Stream:
    """Encodes a stream of sound."""

    def __init__(self, comments: Comments) -> None:
        """Open an encoder.

        Args:
            comments: What the file says about itself.

        Raises:
            YaoheError: ``unsupported_format`` when lameenc is missing.
        """
        self._encoder = _lame().Encoder()
        self._encoder.silence()
        self._encoder.set_channels(1)
        self._encoder.set_in_sample_rate(SAMPLE_RATE)
        self._encoder.set_bit_rate(BITRATE_KBPS)
        self._encoder.set_quality(QUALITY)
        self._header = _id3(comments)
        self._has_sound = False

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk; the first carries the comments."""
        header, self._header = self._header, b""
        if pcm.size == 0:
            return header
        self._has_sound = True
        return header + bytes(self._encoder.encode(to_s16(pcm)))

    def finish(self) -> bytes:
        """Give what the encoder still holds."""
        header, self._header = self._header, b""
        return header + bytes(self._encoder.flush()) if self._has_sound else header


def write_mp3(pcm: Pcm, comments: Comments) -> bytes:
    """Encode a whole sound.

    Args:
        pcm: The sound, shape (samples,).
        comments: What the file says about itself.

    Returns:
        The file.

    Raises:
        YaoheError: ``unsupported_format`` when lameenc is missing.
    """
    stream = Mp3Stream(())
    sound = stream.feed(pcm) + stream.finish()
    return _id3(comments) + _info(sound, pcm.size) + sound


def read_mp3_comments(data: bytes) -> Comments:
    """Read a file's comments back.

    Args:
        data: The file, or its beginning.

    Returns:
        Name and value of the ``TXXX`` frames; nothing where there is no ID3v2.3 tag.

    Raises:
        YaoheError: ``invalid_request`` when the tag is longer than the file.
    """
    if data[:4] != b"ID3\x03" or len(data) < 10:
        return ()
    size = _from_synchsafe(data[6:10])
    if size > min(len(data) - 10, _MAX_ID3):
        unreadable("its tag is longer than the file")
    tag = data[10 : 10 + size]
    found: list[tuple[str, str]] = []
    at = 0
    while at + 10 <= len(tag) and len(found) < MAX_COMMENTS:
        end = at + 10 + int.from_bytes(tag[at + 4 : at + 8], "big")
        if tag[at : at + 5] == b"TXXX\0" and tag[at + 10 : at + 11] == b"\0":
            name, _, value = tag[at + 11 : end].partition(b"\0")
            found.append((name.decode("latin-1"), value.decode("latin-1")))
        at = end
    return tuple(found)


def _id3(comments: Comments) -> bytes:
    """An ID3v2.3 tag, nothing where there are no comments."""
    if not comments:
        return b""
    frames = b""
    for name, value in comments:
        text = f"\0{name}\0{value}".encode("latin-1", "replace")
        frames += b"TXXX" + len(text).to_bytes(4, "big") + b"\0\0" + text
    return b"ID3\x03\0\0" + _synchsafe(len(frames)) + frames


def _synchsafe(size: int) -> bytes:
    return bytes((size >> shift) & 0x7F for shift in (21, 14, 7, 0))


def _from_synchsafe(raw: bytes) -> int:
    return sum(
        (byte & 0x7F) << shift for byte, shift in zip(raw, (21, 14, 7, 0), strict=True)
    )


def _info(sound: bytes, samples: int) -> bytes:
    """The frame of silence that tells players where the sound begins and ends."""
    head = sound[:4]
    if len(head) < 4:
        return b""
    length = 72 * BITRATE_KBPS * 1000 // SAMPLE_RATE
    count = len(sound) // length
    padding = min(max(0, count * FRAME - ENCODER_DELAY - samples), 0xFFF)
    frame = bytearray(length)
    frame[:4] = head
    fields = b"Info" + _INFO_FLAGS.to_bytes(4, "big")
    fields += count.to_bytes(4, "big") + (len(sound) + length).to_bytes(4, "big")
    fields += b"LAME3.100" + bytes((1, SAMPLE_RATE // 200)) + bytes(8)
    fields += bytes((0, BITRATE_KBPS))
    fields += (ENCODER_DELAY << 12 | padding).to_bytes(3, "big") + bytes(4)
    fields += (len(sound) + length).to_bytes(4, "big") + bytes(2)
    frame[_INFO_AT : _INFO_AT + len(fields)] = fields
    return bytes(frame)
