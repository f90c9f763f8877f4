"""Named comments as Ogg Opus and FLAC both write them, and the bounds of a reader.

The layout is the Vorbis comment's: a vendor string, then ``NAME=value`` strings in
UTF-8, each with a 32-bit little-endian length before it. Names are ASCII and compare
without case. A reader takes any bytes and gives comments or one error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NoReturn

from common.audio.provenance import MAX_VALUE, Comments
from common.errors import YaoheError

VENDOR = "yaohe"
"""Who wrote the file."""

MAX_COMMENTS = 64
"""Comments that a reader takes from one file."""


def unreadable(what: str) -> NoReturn:
    """Refuse bytes that are not what they should be.

    Args:
        what: What is wrong, as the end of a sentence.

    Raises:
        YaoheError: Always, ``invalid_request``.
    """
    raise YaoheError("invalid_request", f"The audio file is damaged: {what}.")


def write_comments(comments: Iterable[tuple[str, str]]) -> bytes:
    """Lay comments out as bytes.

    Args:
        comments: Name and value.

    Returns:
        Vendor and comments, without any framing.

    Raises:
        YaoheError: ``invalid_request`` when a value is longer than ``MAX_VALUE``.
    """
    vendor = VENDOR.encode()
    parts = [struct.pack("<I", len(vendor)), vendor, b""]
    count = 0
    for name, value in comments:
        if len(value) > MAX_VALUE:
            raise YaoheError("invalid_request", f"The comment {name} is too long.")
        entry = f"{name}={value}".encode("utf-8", "replace")
        parts += (struct.pack("<I", len(entry)), entry)
        count += 1
    parts[2] = struct.pack("<I", count)
    return b"".join(parts)


def read_comments(data: bytes) -> Comments:
    """Read comments back.

    Args:
        data: What :func:`write_comments` or any other writer laid out; bytes after
            the last comment are ignored.

    Returns:
        Name and value of at most ``MAX_COMMENTS`` comments; those that are too long
        or have no name are left out.

    Raises:
        YaoheError: ``invalid_request`` when the lengths do not fit the bytes.
    """
    vendor, at = _string(data, 0)
    del vendor
    if at + 4 > len(data):
        unreadable("its comments end early")
    count = int.from_bytes(data[at : at + 4], "little")
    at += 4
    found: list[tuple[str, str]] = []
    for _ in range(min(count, MAX_COMMENTS)):
        entry, at = _string(data, at)
        name, equals, value = entry.decode("utf-8", "replace").partition("=")
        if equals and len(value) <= MAX_VALUE:
            found.append((name, value))
    return tuple(found)


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    """The string whose length stands at ``at``, and where the next thing begins."""
    start = at + 4
    if start > len(data):
        unreadable("its comments end early")
    end = start + int.from_bytes(data[at:start], "little")
    if end > len(data):
        unreadable("a comment is longer than the file")
    return data[start:end], end
