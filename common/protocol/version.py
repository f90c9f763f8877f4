"""Versions of packs, ordered as SemVer orders them."""

from __future__ import annotations

import re
from typing import NamedTuple

from common.errors import YaoheError, quoted

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_WORD = r"(?:0|[1-9][0-9]{0,8}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
VERSION_FORM = (
    rf"^({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_WORD}(?:\.{_WORD}){{0,7}}))?$"
)
"""``MAJOR.MINOR.PATCH``, perhaps with a pre-release; no build metadata."""

_FORM = re.compile(VERSION_FORM)
MAX_CHARACTERS = 64


class Version(NamedTuple):
    """A version that compares as it should.

    Attributes:
        major: Breaks what was.
        minor: Adds.
        patch: Repairs.
        is_release: False for a pre-release, which comes before its release.
        pre: Parts of the pre-release; numbers before words.
    """

    major: int
    minor: int
    patch: int
    is_release: bool
    pre: tuple[tuple[int, int, str], ...]


def parse_version(text: str) -> Version:
    """Read a version.

    Args:
        text: Any string.

    Returns:
        The version; compare with ``<`` and ``==``.

    Raises:
        YaoheError: ``pack_invalid``: it is not spelled like one.
    """
    match = _FORM.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
    if match is None:
        raise YaoheError("pack_invalid", f"not a version: {quoted(text)}")
    words = match[4].split(".") if match[4] else []
    pre = tuple((0, int(w), "") if w.isdigit() else (1, 0, w) for w in words)
    return Version(int(match[1]), int(match[2]), int(match[3]), not words, pre)
