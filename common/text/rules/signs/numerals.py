"""Numerals that are one character, and letters of Greek."""

from __future__ import annotations

import re
import unicodedata

from common.text.numbers import spell_integer
from common.text.scan import RuleBook, Scan

_ROMAN = {chr(0x2160 + i): i + 1 for i in range(12)} | {
    chr(0x2170 + i): i + 1 for i in range(12)
}
_CIRCLED = {
    chr(first + i): i + 1
    for first, count in (
        (0x2460, 20),
        (0x2474, 20),
        (0x2488, 20),
        (0x3220, 10),
        (0x3280, 10),
        (0x2776, 10),
        (0x2780, 10),
        (0x278A, 10),
    )
    for i in range(count)
}
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        (
            "阿尔法 贝塔 伽马 德尔塔 艾普西龙 泽塔 伊塔 西塔 约塔 卡帕 拉姆达 缪 "
            "纽 克西 "
            "奥米克戎 派 柔 西格玛 陶 宇普西龙 斐 希 普西 欧米伽"
        ).split(),
        strict=True,
    )
)


def _roman(match: re.Match[str], state: Scan) -> str:
    return spell_integer(str(_ROMAN[match[0]]))


def _circled(match: re.Match[str], state: Scan) -> str:
    return spell_integer(str(_CIRCLED[match[0]]))


def _fraction(match: re.Match[str], state: Scan) -> str:
    above, _, below = unicodedata.normalize("NFKC", match[2]).partition("⁄")
    said = f"{spell_integer(below)}分之{spell_integer(above)}"
    return f"{spell_integer(match[1])}又{said}" if match[1] else said


def _greek(match: re.Match[str], state: Scan) -> str:
    return _GREEK[match[0].lower()]


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("numeral.roman", "s", f"[{''.join(_ROMAN)}]")(_roman)
    add("numeral.circled", "s", f"[{''.join(_CIRCLED)}]")(_circled)
    greek = "".join(_GREEK)
    add("sign.greek", "s", f"[{greek}{greek.upper()}]")(_greek)


def register_fractions(book: RuleBook) -> None:
    """Add fractions, which numbers before them belong to."""
    add = book.rule
    add("fraction", "ds", r"(\d*)([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])")(_fraction)
