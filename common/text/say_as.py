"""Content that markup or a caller names: digits, phones, dates, money and the like."""

from __future__ import annotations

import re

from common.text.numbers import spell_digits, spell_integer, spell_number

_ASKED = {
    "digits": "digits",
    "number_digit": "digits",
    "characters": "characters",
    "spell-out": "characters",
    "verbatim": "characters",
    "telephone": "telephone",
    "phone": "telephone",
    "cardinal": "cardinal",
    "number": "cardinal",
    "ordinal": "ordinal",
    "date": "date",
    "time": "time",
    "currency": "price",
    "price": "price",
    "money": "price",
    "fraction": "fraction",
    "code": "digits",
}
CONTEXTS = frozenset(_ASKED)
"""Kinds that ``say-as`` and the context hint know; others are ignored."""


def speak(text: str, kind: str, dialect: str) -> str | None:
    """Say a text as a named kind of content.

    Args:
        text: Unified text, such as ``10.9``.
        kind: Name as in ``interpret-as``.
        dialect: Whose numbers.

    Returns:
        Words, or ``None`` where the ordinary rules know as much.
    """
    asked = _ASKED.get(kind, "")
    text = text.strip()
    one = "一" if dialect == "gd" else "幺"
    pair = "二" if dialect == "gd" else "两"
    if asked == "telephone" and re.fullmatch(r"[\d+() -]+", text):
        return spell_digits(text, one=one) or None
    if asked in ("digits", "characters") and re.fullmatch(r"[A-Za-z\d -]+", text):
        words = [spell_digits(c) if c.isdigit() else c for c in text if c.isalnum()]
        return (
            "".join(f" {w} " if w.isascii() else w for w in words)
            .replace("  ", " ")
            .strip()
        )
    if asked == "cardinal" and re.fullmatch(r"-?[\d,]+(?:\.\d+)?", text):
        sign = "负" if text.startswith("-") else ""
        return sign + spell_number(text.lstrip("-").replace(",", ""), pair=pair)
    if asked == "ordinal" and re.fullmatch(r"\d+", text):
        return "第" + spell_integer(text, pair=pair)
    if asked == "fraction" and (found := re.fullmatch(r"(\d+)/(\d+)", text)):
        return f"{spell_integer(found[2])}分之{spell_integer(found[1])}"
    if asked == "date":
        return _date(text)
    if asked == "time" and (found := re.fullmatch(r"(\d{1,2})[.:：](\d{2})", text)):
        hour = "两" if found[1] in ("2", "02") else spell_integer(found[1])
        minute = spell_integer(found[2])
        if found[2] == "00":
            return f"{hour}点"
        return f"{hour}点{'零' if found[2][0] == '0' else ''}{minute}分"
    if asked == "price" and re.fullmatch(r"[\d,]+(?:\.\d+)?", text):
        number = text.replace(",", "")
        return ("两" if number == "2" else spell_number(number, pair=pair)) + "元"
    return None


def _date(text: str) -> str | None:
    found = re.fullmatch(r"(?:(\d{4})[./年-])?(\d{1,2})[./月-](\d{1,2})[日号]?", text)
    if not found or not (1 <= int(found[2]) <= 12 and 1 <= int(found[3]) <= 31):
        return None
    year = spell_digits(found[1]) + "年" if found[1] else ""
    return f"{year}{spell_integer(found[2])}月{spell_integer(found[3])}日"
