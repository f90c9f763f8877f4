"""Numbers in words: the one number reader, with a switch for the dialect.

Rules: the output is Chinese characters only; ``两`` is chosen by the caller, who knows
the counter; digit-by-digit reading is a function of its own because no number can tell
whether it is an amount or a name.
"""

from __future__ import annotations

DIGITS = "零一二三四五六七八九"
MAX_CARDINAL_DIGITS = 16
"""Longer strings are names (card numbers), not amounts; they are read by digit."""

_SMALL = ("", "十", "百", "千")
_LARGE = ("", "万", "亿", "万亿")


def spell_digits(digits: str, *, one: str = "一") -> str:
    """Read a string digit by digit.

    Args:
        digits: ASCII digits; other characters are dropped.
        one: How a 1 is said, ``幺`` in Mandarin phone numbers.

    Returns:
        One character per digit.
    """
    return "".join(
        one if digit == "1" else DIGITS[ord(digit) - 48]
        for digit in digits
        if "0" <= digit <= "9"
    )


def _section(value: int, *, leads: bool, pair: str) -> str:
    """Read 1-9999; ``leads`` says whether the number begins here."""
    words: list[str] = []
    gap = False
    for place in (3, 2, 1, 0):
        digit = value // 10**place % 10
        if digit == 0:
            gap = bool(words)
            continue
        if gap:
            words.append("零")
            gap = False
        first = leads and not words
        if place == 1 and digit == 1 and first:
            words.append("十")
            continue
        word = pair if digit == 2 and place >= 2 and first else DIGITS[digit]
        words.append(word + _SMALL[place])
    return "".join(words)


def spell_integer(digits: str, *, pair: str = "两") -> str:
    """Read a whole number.

    Args:
        digits: ASCII digits, without separators.
        pair: What a leading 2 is called before 百, 千, 万, 亿: ``两`` in Mandarin,
            ``二`` before 百 in Cantonese.

    Returns:
        The number in words; strings longer than :data:`MAX_CARDINAL_DIGITS` are read
        by digit.
    """
    digits = digits.lstrip("0")
    if not digits:
        return "零"
    if len(digits) > MAX_CARDINAL_DIGITS:
        return spell_digits(digits)
    value = int(digits)
    sections: list[int] = []
    while value:
        value, part = divmod(value, 10000)
        sections.append(part)
    words: list[str] = []
    gap = False
    for place in range(len(sections) - 1, -1, -1):
        part = sections[place]
        if part == 0:
            gap = bool(words)
            continue
        if words and (gap or part < 1000):
            words.append("零")
        gap = False
        text = _section(part, leads=not words, pair=pair)
        if part == 2 and place and not words:
            text = "两"
        words.append(text + _LARGE[place])
    return "".join(words)


def spell_number(number: str, *, pair: str = "两") -> str:
    """Read a whole or decimal number, with a point but no sign or separators.

    Args:
        number: Such as ``12`` or ``0.50``.
        pair: See :func:`spell_integer`.

    Returns:
        The number in words; digits after the point one by one.
    """
    whole, point, decimals = number.partition(".")
    words = spell_integer(whole or "0", pair=pair)
    if point and decimals:
        words += "点" + spell_digits(decimals)
    return words
