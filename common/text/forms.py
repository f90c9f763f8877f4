"""Forms of characters: full width to half, compatibility forms, traditional characters.

Rule of this module: the answer has exactly one character per input character, so every
later position is a position in the input; :func:`unseen` says which do not show at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
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
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)
_SPLIT = re.compile(r"(?<![\d.])\d+([ \u00a0\u3000]+|\ufe0f?\u20e3)[.．]\d+(?![\d.．])")
"""One number whose point stands apart: ``9 .9``, or digits on keys."""
_PRICED = "[¥$€£]|[价售]|[仅只][需要售]?"
_NUMERALS = "[零〇一二两三四五六七八九十百千万]"
_DOTTED = re.compile(
    r"(?<![\d.·])(\d+)·(?=\d+ ?(?:[元块圆]|折(?!扣)))|"
    rf"((?:{_PRICED})[:：为是]? ?\d+)·(?=\d+(?![\d·]))|"
    r"(?<![\d.。])(\d{1,3})。(?=\d{1,2} ?(?:[元块圆]|折(?!扣)))|"
    rf"(?<![周期拜第初])({_NUMERALS})·(?=[零〇一二三四五六七八九]{{1,2}}(?:元(?!旦)|块|折(?!扣)))"
)
"""A price with a dot in the middle, or a full stop, for its point."""
_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")


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
    unified = "".join(map(half_width, text))
    if "·" not in unified and "。" not in unified:
        return unified
    return _DOTTED.sub(lambda match: f"{match[match.lastindex or 0]}.", unified)


def unseen(text: str) -> Iterator[int]:
    """Find characters that part nothing: nobody sees them, or a price has them inside.

    A price that was copied from a page as ``9``, a zero-width space and ``.9`` shows
    as 9.9 and is read as that. Between two Chinese characters they stay: those are
    read one by one anyway.

    Args:
        text: Any text.

    Yields:
        Their positions.
    """
    for match in _UNSEEN.finditer(text):
        start, end = match.span()
        before, after = text[start - 1 : start] if start else "", text[end : end + 1]
        if before and after and not (_HAN.match(before) and _HAN.match(after)):
            yield from range(start, end)
    for match in _SPLIT.finditer(text):
        yield from range(*match.span(1))
