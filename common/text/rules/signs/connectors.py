"""What joins two things: range connectors, slashes, and."""

from __future__ import annotations

import re

from common.text.scan import RuleBook, Scan, Token, kind_of

_WEEKDAY = "(?:周|星期|礼拜)[一二三四五六日天末]"
_SIDE = re.compile(
    rf"(?:\d[A-Za-z℃°%㎡]{{0,3}}|\d[一-龥]{{1,3}}|[日号月年点分时元折岁]|{_WEEKDAY}|"
    r"[上下]午|[AaPp][Mm]|[0-9０-９]\"?)\s?$"
)
_NEXT = re.compile(
    rf"\s?(?:[-¥￥$]?\d|{_WEEKDAY}|次[日年月]|翌日|凌晨|[上下中]午|早|晚|[AaPp][Mm]\s?\d)"
)
_LETTERED = re.compile(r"([A-Za-z])\d{1,3}$")
_NUMERAL = re.compile(r"[一二三四五六七八九十百千]$")
_PLACE = re.compile(r"[A-Z]([区座馆栋厅口门排库])$")


def _to(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 8), state.after(match.end(), 8)
    lettered = _LETTERED.search(before)
    place = _PLACE.search(before)
    if lettered:
        joined = re.match(rf"{lettered[1]}\d|\d{{1,2}}(?!\d)[层楼区号排座]", after)
    elif place:
        joined = re.match(f"[A-Z]{place[1]}", after)
    elif _NUMERAL.search(before) and "—" not in match[0]:
        joined = re.match(r"[一二三四五六七八九十百千]", after) or _NEXT.match(after)
    else:
        joined = _NEXT.match(after) if _SIDE.search(before) else None
    if joined is None:
        return None
    return "至" if state.dialect == "gd" else "到"


def _dash(match: re.Match[str], state: Scan) -> Token | None:
    """A dash that joins nothing parts two phrases, or is part of a Latin name."""
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    if not before or not after or (kind_of(before) != "h" and kind_of(after) != "h"):
        return None
    if match[0][0].isspace() and after.isdigit() and not match[0][-1].isspace():
        return None
    return Token(match.start(), match.end(), "，", "pause", ",")


def _between(match: re.Match[str], state: Scan) -> Token:
    """Two numbers side by side must not run into one."""
    return Token(match.start(), match.end(), "、", "pause", "、")


def _slash(match: re.Match[str], state: Scan) -> str | Token | None:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    if not before or not after:
        return None
    if kind_of(before) in "hl" and kind_of(after) in "hl":
        return "或"
    return Token(match.start(), match.end(), "、", "pause", "、")


def _and(match: re.Match[str], state: Scan) -> str:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    latin = before and after and kind_of(before) == kind_of(after) == "l"
    return " and " if latin else "和"


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("range.connector", "s", r"\s?(?:-{1,2}|~|—{1,2}|–|～|〜|∼|－)\s?")(_to)
    add("pause", "s", r"(?<=\d)\s+(?=\d)")(_between)
    add("pause", "s", r"\s?(?:-{1,2}|~|～|〜|∼|－|–)\s?")(_dash)
    add("sign.at", "s", "@")(lambda match, state: "艾特")
    add("sign.and", "s", r"\s?&\s?")(_and)
    add("sign.or", "s", r"\s?/\s?")(_slash)
