"""Forms of characters: full width to half, compatibility forms, traditional characters.

Rule of this module: the answer has exactly one character per input character, so every
later position is a position in the input.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

_PLAIN = {
    "\u3000": " ",
    "\u00a0": " ",
    "￥": "¥",
    "−": "-",
    "﹣": "-",
    "‐": "-",
    "‑": "-",
    "⁄": "/",
    "∕": "/",
    "µ": "μ",
    "·": "·",
    "•": "·",
    "‧": "·",
    "⋅": "·",
    "㎏": "㎏",
}
_KEPT_FULL_WIDTH = frozenset("，！？：；（）～｜")


@lru_cache(maxsize=16384)
def half_width(character: str) -> str:
    """The plain form of one character, itself if it has none of length one."""
    if character in _PLAIN:
        return _PLAIN[character]
    if character in _KEPT_FULL_WIDTH:
        return character
    code = ord(character)
    if 0xFF01 <= code <= 0xFF5E:
        return chr(code - 0xFEE0)
    if (
        0x1D400 <= code <= 0x1D7FF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F00 <= code <= 0x2FDF
    ):
        folded = unicodedata.normalize("NFKC", character)
        return folded if len(folded) == 1 else character
    return character


@lru_cache(maxsize=4)
def _converter(name: str) -> Any:
    import opencc

    return opencc.OpenCC(name)


@lru_cache(maxsize=16384)
def _single(character: str, name: str) -> str:
    if not "\u3400" <= character <= "\u9fff":
        return character
    converted: str = _converter(name).convert(character)
    return converted if len(converted) == 1 else character


def convert(text: str, name: str) -> str:
    """Convert between scripts, keeping the length.

    Args:
        text: Any text.
        name: An OpenCC configuration: ``t2s`` or ``s2hk``.

    Returns:
        Text of the same length; by phrases where that keeps the length.
    """
    singles = "".join(_single(character, name) for character in text)
    if singles == text:
        return text
    whole: str = _converter(name).convert(text)
    return whole if len(whole) == len(text) else singles


def unify(text: str) -> str:
    """Unify widths and compatibility forms, one character for one.

    Args:
        text: Any text.

    Returns:
        Text of the same length.
    """
    return "".join(map(half_width, text))
