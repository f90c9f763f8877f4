"""FLAC through libsndfile, with comments of our own.

Rules of this module:

* The header holds the length and a digest of the sound, so a file is given out when the
  sound is complete, even where the sound itself streams. The format allows to leave
  both unknown, but then common readers take the file for endless. Who wants to hear the
  first word early asks for another format.
* A file has one comment block. Ours replaces the encoder's.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from common.audio.library import load
from common.audio.pcm import SAMPLE_RATE, Pcm, to_s16
from common.audio.provenance import Comments
from common.audio.tags import read_comments, unreadable, write_comments

MAX_BLOCKS = 64
"""Metadata blocks that a reader walks over."""

_MAGIC = b"fLaC"
_COMMENT_BLOCK = 4
_IS_LAST = 0x80


def _soundfile() -> Any:
    return load("soundfile", (), "flac needs soundfile: pip install soundfile")


class FlacStream:
    """Encodes a stream of sound; every byte comes with the end."""

    def __init__(self, comments: Comments) -> None:
        """Open an encoder.

        Args:
            comments: What the file says about itself.

        Raises:
            YaoheError: ``unsupported_format`` when soundfile is missing.
        """
        self._comments = comments
        self._target = io.BytesIO()
        self._file = _soundfile().SoundFile(
            self._target, "w", SAMPLE_RATE, 1, "PCM_16", format="FLAC"
        )

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk; its bytes are kept, since the header is not known yet."""
        self._file.write(np.frombuffer(to_s16(pcm), dtype="<i2"))
        return b""

    def finish(self) -> bytes:
        """Give the whole file; none where there was no sound."""
        self._file.close()
        data = self._target.getvalue()
        return _with_comments(data, self._comments) if data else b""


def write_flac(pcm: Pcm, comments: Comments) -> bytes:
    """Encode a whole sound.

    Args:
        pcm: The sound, shape (samples,).
        comments: What the file says about itself.

    Returns:
        The file.

    Raises:
        YaoheError: ``unsupported_format`` when soundfile is missing.
    """
    stream = FlacStream(comments)
    stream.feed(pcm)
    return stream.finish()


def read_flac_comments(data: bytes) -> Comments:
    """Read a file's comments back.

    Args:
        data: The file, or its beginning.

    Returns:
        Name and value.

    Raises:
        YaoheError: ``invalid_request`` when this is no FLAC file.
    """
    blocks, _ = _blocks(data)
    for kind, body in blocks:
        if kind == _COMMENT_BLOCK:
            return read_comments(body)
    return ()


def _with_comments(data: bytes, comments: Comments) -> bytes:
    """A file's bytes with our comment block in place of the encoder's."""
    blocks, end = _blocks(data)
    kept = [(kind, body) for kind, body in blocks if kind != _COMMENT_BLOCK]
    kept.append((_COMMENT_BLOCK, write_comments(comments)))
    parts = [_MAGIC]
    for number, (kind, body) in enumerate(kept, 1):
        last = _IS_LAST if number == len(kept) else 0
        parts += (bytes((kind | last,)), len(body).to_bytes(3, "big"), body)
    return b"".join((*parts, data[end:]))


def _blocks(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """The metadata blocks, kind and body, and where the sound begins."""
    if not data.startswith(_MAGIC):
        unreadable("it is not FLAC")
    blocks: list[tuple[int, bytes]] = []
    at = len(_MAGIC)
    for _ in range(MAX_BLOCKS):
        start = at + 4
        end = start + int.from_bytes(data[at + 1 : start], "big")
        if end > len(data) or start > len(data):
            unreadable("it ends inside its header")
        blocks.append((data[at] & ~_IS_LAST, data[start:end]))
        if data[at] & _IS_LAST:
            return blocks, end
        at = end
    unreadable("it has too many blocks")
