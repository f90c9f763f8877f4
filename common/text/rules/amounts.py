"""Amounts in words inside rules: sign, separators, 两, and the dialect's own style."""

from __future__ import annotations

import re

from common.text.numbers import spell_digits, spell_number
from common.text.rules.counters import GUARD, UNIT, takes_pair
from common.text.scan import Scan

NUMBER = (
    r"(?:\d{1,3}(?: \d{3})+(?=\s?(?:元|块|人|件))|\d{1,3}(?:,\d{3})+(?!\d)|"
    r"\d{1,3}(?:，\d{3})*，(?:000(?!\d)|\d{3}(?=\s?元))|\d+)"
    r"(?:\.\d+)?"
)
"""A number, thousands separators allowed."""
TO = r"\s?(?P<to>-{1,2}|—{1,2}|[~–～〜∼－]|至|到)\s?"
"""A range connector."""

_UNIT_AFTER = re.compile(r"\s?(?![℃°])" + UNIT + GUARD)
_RANGE_AFTER = re.compile(r"\s?(?:-{1,2}|—{1,2}|[~–～〜∼－]|至|到)\s?" + NUMBER)
_FLAT = re.compile(r"2[室房]\d厅|[室房]2厅|厅2卫")
"""Rooms of a flat are counted; elsewhere 室 and 厅 are numbered."""
_ORDINAL_BEFORE = re.compile(r"(?:第|初|周|星期|礼拜|编号|No\.?|NO\.?|[+×*=])\s?$")


def without_zeros(number: str) -> str:
    """A price without the ``.00`` that nobody says."""
    return re.sub(r"\.0+$", "", plain(number))


def to_word(match: re.Match[str], state: Scan) -> str:
    """What a matched range connector is called."""
    return "至" if match["to"] == "至" or state.dialect == "gd" else "到"


def plain(number: str) -> str:
    """The number without separators."""
    return re.sub("[,， ]", "", number)


def pair_word(state: Scan) -> str:
    """What a leading 2 is called before 百: ``二`` in Cantonese."""
    return "二" if state.dialect == "gd" else "两"


def amount(state: Scan, number: str, start: int, end: int) -> str:
    """Read a number as an amount, with 两 where the counter asks for it.

    Args:
        state: The pass.
        number: As written, separators included.
        start: Where it begins.
        end: Where it ends; what follows decides about 两.

    Returns:
        The number in words.
    """
    digits = plain(number)
    if re.fullmatch(r"0\d+", digits):
        return spell_digits(digits)
    if digits == "2":
        after = state.after(end, 16)
        connected = _RANGE_AFTER.match(after)
        if connected:
            after = after[connected.end() :]
        if _ORDINAL_BEFORE.search(state.before(start)):
            return "二"
        if _FLAT.search(state.before(start, 2) + "2" + after[:3]):
            return "两"
        if _UNIT_AFTER.match(after) or takes_pair(after.lstrip(" ")):
            return "两"
        return "二"
    return spell_number(digits, pair=pair_word(state))
