"""Byte ranges and entity tags (RFC 9110) of an answer whose bytes are all there.

One range is served. Several ranges, other units and what is not well formed are passed
over, as the standard allows: the caller gets the whole.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

MAX_HEADER = 1024
"""Characters of a header that are looked at."""

_ONE_RANGE = re.compile(r"bytes=\s*(\d{0,19})-(\d{0,19})\s*", re.ASCII | re.IGNORECASE)
_TAG = re.compile(r'(?:W/)?("[^"]*")')


class ByteRange(NamedTuple):
    """A part of some bytes.

    Attributes:
        start: Its first byte.
        end: One past its last; equal to ``start`` where nothing can be served.
    """

    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether the range lies outside the bytes."""
        return self.end <= self.start


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Read a ``Range`` header.

    Args:
        header: Its value, or None.
        size: Bytes there are.

    Returns:
        The part asked for, empty where it cannot be served; None for the whole.
    """
    if header is None or len(header) > MAX_HEADER:
        return None
    match = _ONE_RANGE.fullmatch(header)
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return ByteRange(max(0, size - int(last)), size)
    start = int(first)
    if last and int(last) < start:
        return None
    end = min(int(last) + 1, size) if last else size
    return ByteRange(start, max(start, end))


def entity_tag(body: bytes) -> str:
    """Name some bytes.

    Args:
        body: The bytes.

    Returns:
        A strong entity tag, quoted.
    """
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(header: str | None, tag: str) -> bool:
    """Whether an ``If-None-Match`` header names what we have.

    Args:
        header: Its value, or None.
        tag: Our entity tag.

    Returns:
        True when the client needs no bytes.
    """
    if header is None or len(header) > MAX_HEADER:
        return False
    return header.strip() == "*" or tag in _TAG.findall(header)
