"""WAV: the header, once, and the comments.

Rules of this module:

* A whole file has true sizes and the plain 44-byte header, so that the simplest player
  reads it; its comments follow the sound.
* A stream says all ones where a size is not known, the sign for "until the end"; its
  comments stand before the sound, since nothing can follow it.
* The AI-content label is a chunk of its own, named as the label, and all comments are
  in ``LIST``/``INFO`` as ``ICMT``, one ``NAME=value`` a line.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from common.audio.pcm import SAMPLE_RATE, Pcm, to_s16
from common.audio.provenance import LABEL_TAG, MAX_VALUE, Comments
from common.audio.tags import MAX_COMMENTS, VENDOR, unreadable

UNKNOWN_SIZE = 0xFFFF_FFFF
"""Size of a stream whose end is not known, and the largest that can be said."""

MAX_CHUNKS = 64
"""Chunks that a reader walks over."""

MAX_HEAD_BYTES = MAX_COMMENTS * MAX_VALUE * 2
"""What stands before the sound of a stream is never longer."""

_SAMPLE_BYTES = 2


class WavStream:
    """Encodes a stream of sound."""

    def __init__(self, comments: Comments) -> None:
        """Begin a stream.

        Args:
            comments: What the file says about itself.
        """
        self._header = (
            _riff(UNKNOWN_SIZE) + _chunks(comments) + _chunk_head(b"data", UNKNOWN_SIZE)
        )

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk; the first carries the header."""
        header, self._header = self._header, b""
        return header + to_s16(pcm)

    def finish(self) -> bytes:
        """End the stream."""
        header, self._header = self._header, b""
        return header


def settle(path: Path) -> None:
    """Give the saved stream of a sound its true sizes, in place.

    Args:
        path: A file that :class:`WavStream` wrote; what is too long for a size keeps
            the sign for "until the end".
    """
    with path.open("r+b") as file:
        head = file.read(MAX_HEAD_BYTES)
        at = head.index(_chunk_head(b"data", UNKNOWN_SIZE)) + 8
        total = file.seek(0, os.SEEK_END)
        for place, size in ((4, total - 8), (at - 4, total - at)):
            file.seek(place)
            file.write(struct.pack("<I", min(size, UNKNOWN_SIZE)))


def write_wav(pcm: Pcm, comments: Comments) -> bytes:
    """Encode a whole sound.

    Args:
        pcm: The sound, shape (samples,).
        comments: What the file says about itself.

    Returns:
        The file.
    """
    data = to_s16(pcm)
    after = _chunks(comments)
    size = 36 + len(data) + len(after)
    return b"".join((_riff(size), _chunk_head(b"data", len(data)), data, after))


def read_wav_comments(data: bytes) -> Comments:
    """Read a file's comments back.

    Args:
        data: A whole file, or a saved stream.

    Returns:
        Name and value.

    Raises:
        YaoheError: ``invalid_request`` when this is no WAV file.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        unreadable("it is not WAV")
    found: list[tuple[str, str]] = []
    at = 12
    for _ in range(MAX_CHUNKS):
        name, size = data[at : at + 4], data[at + 4 : at + 8]
        if len(size) < 4:
            break
        start = at + 8
        at = start + int.from_bytes(size, "little")
        body = data[start : min(at, start + MAX_COMMENTS * MAX_VALUE)]
        at += at % 2
        if name == b"LIST" and body[:8] == b"INFOICMT":
            found += _lines(body[12:])
        elif name == LABEL_TAG.encode():
            found.append((LABEL_TAG, _text(body)))
    return tuple(dict.fromkeys(found))


def _lines(comment: bytes) -> Comments:
    pairs = (line.partition("=") for line in _text(comment).splitlines())
    kept = [(name, value) for name, equals, value in pairs if equals]
    return tuple(kept[:MAX_COMMENTS])


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("utf-8", "replace")


def _riff(size: int) -> bytes:
    """Everything before the first chunk that is not ``fmt``."""
    rate = SAMPLE_RATE * _SAMPLE_BYTES
    form = struct.pack("<HHIIHH", 1, 1, SAMPLE_RATE, rate, _SAMPLE_BYTES, 16)
    total = struct.pack("<I", min(size, UNKNOWN_SIZE))
    return b"RIFF" + total + b"WAVE" + _chunk(b"fmt ", form)


def _chunks(comments: Comments) -> bytes:
    """The chunks that carry the comments, nothing where there are none."""
    if not comments:
        return b""
    said = "\n".join(f"{name}={value}" for name, value in comments)
    info = b"INFO" + _chunk(b"ICMT", _zero_ended(said))
    info += _chunk(b"ISFT", _zero_ended(VENDOR))
    label = dict(comments).get(LABEL_TAG)
    own = b"" if label is None else _chunk(LABEL_TAG.encode(), label.encode())
    return own + _chunk(b"LIST", info)


def _zero_ended(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\0"


def _chunk(name: bytes, body: bytes) -> bytes:
    return _chunk_head(name, len(body)) + body + bytes(len(body) % 2)


def _chunk_head(name: bytes, size: int) -> bytes:
    return name + struct.pack("<I", min(size, UNKNOWN_SIZE))
