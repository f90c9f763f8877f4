"""Quantities: percent, fractions, ranges, units, counters and bare numbers."""

from __future__ import annotations

import re

from common.text.numbers import spell_digits, spell_integer
from common.text.rules.amounts import NUMBER, TO, amount, plain, to_word
from common.text.rules.counters import GUARD, SIGN_UNITS, UNIT, unit_word
from common.text.scan import RuleBook, Scan

_GENERATION = re.compile(
    r"\s?(?:网|手机|信号|流量|时代|基站|内存|存储|固态|硬盘|[Uu]盘)"
)
"""After these a small g is a generation or a gigabyte, not a gram."""


def _percent_word(state: Scan, number: str) -> str:
    if number == "100":
        return "一百" if state.dialect == "gd" else "百"
    return amount(state, number, 0, len(state.text))


def _percent(match: re.Match[str], state: Scan) -> str:
    head = "千分之" if match["sign"] == "‰" else "百分之"
    said = head + _percent_word(state, match["one"])
    if match["two"]:
        said += to_word(match, state) + head + _percent_word(state, match["two"])
    return said


def _negative(match: re.Match[str], state: Scan) -> str | None:
    if re.search(r"[\dA-Za-z%℃]\s?$", state.before(match.start(), 2)):
        return None
    head = "千分之" if match["sign"] == "‰" else "百分之"
    return "负" + head + _percent_word(state, match["one"])


def _trend(match: re.Match[str], state: Scan) -> str:
    return "上升" if match[1] == "↑" else "下降"


def _fraction(match: re.Match[str], state: Scan) -> str | None:
    above, below = int(match[1]), int(match[2])
    if below == 0 or above >= below or state.before(match.start(), 1) in ("/", "第"):
        return None
    return f"{spell_integer(match[2])}分之{spell_integer(match[1])}"


def _times(match: re.Match[str], state: Scan) -> str:
    parts = re.split(r"\s?[×xX*✕]\s?", match["sizes"])
    said = "乘".join(amount(state, p, 0, len(state.text)) for p in parts)
    return said + (unit_word(match["unit"]) if match["unit"] else "")


def _range(match: re.Match[str], state: Scan) -> str | None:
    one, two = match["one"], match["two"]
    if re.match(r"0\d", one) or re.match(r"0\d", two):
        return None
    if re.search("[A-Za-z]$", state.before(match.start(), 1)) and len(two) > 2:
        return None
    unit = match["unit"]
    first = amount(state, one, match.start(), match.end("one"))
    second = amount(state, two, match.start("two"), match.end("two"))
    falls = float(plain(two)) < float(plain(one)) and "-" in match["to"]
    if falls and re.match(r"\s?(?:[号室栋房幢]|单元)", state.after(match.end())):
        return f"{first}杠{second}"
    tail = unit_word(match["last"]) if match["last"] else ""
    return (
        first
        + (unit_word(unit) if unit else "")
        + to_word(match, state)
        + second
        + tail
    )


def _minus(match: re.Match[str], state: Scan) -> str:
    far = len(state.text)
    return f"{amount(state, match[1], far, far)}减{amount(state, match[2], far, far)}"


def _unit(match: re.Match[str], state: Scan) -> str | None:
    number, unit = match["number"], match["unit"]
    if (
        unit in ("°C", "°c")
        and number == "85"
        and re.match(r"\s?(?:咖啡|蛋糕|面包|店|门店)", state.after(match.end()))
    ):
        return "八十五度C"
    if unit == "g" and _GENERATION.match(state.after(match.end())):
        return None
    said = amount(state, number, match.start(), match.end("number"))
    return said + unit_word(unit)


def _floor(match: re.Match[str], state: Scan) -> str:
    return spell_integer(match[1]) + "楼"


def _shorthand(match: re.Match[str], state: Scan) -> str:
    scale = "万" if match[2] in "wW" else "千"
    number = "两" if match[1] == "2" else amount(state, match[1], 0, len(state.text))
    return number + scale


def _hash(match: re.Match[str], state: Scan) -> str:
    return f"{spell_integer(match[1])}号"


def _inch(match: re.Match[str], state: Scan) -> str:
    return f"{amount(state, match[1], 0, len(state.text))}英寸"


def _electric(match: re.Match[str], state: Scan) -> str:
    volts, amperes = (
        "两" if part == "2" else amount(state, part, 0, len(state.text))
        for part in (match[1], match[2])
    )
    return f"{volts}伏{amperes}安"


def _some(match: re.Match[str], state: Scan) -> str:
    return spell_integer(match[1])


def _more(match: re.Match[str], state: Scan) -> str:
    return amount(state, match[1], match.start(), match.end(1)) + "多"


def _piece(match: re.Match[str], state: Scan) -> str:
    whole = amount(state, match[1], match.start(), match.end(1))
    return f"{whole}块{spell_integer(match[2])}"


def _metres(match: re.Match[str], state: Scan) -> str:
    metres = "两" if match[1] == "2" else spell_integer(match[1])
    return f"{metres}米{spell_digits(match[2])}"


def _minutes(match: re.Match[str], state: Scan) -> str:
    return f"{spell_integer(match[1])}分{spell_integer(match[2])}秒"


def _point(match: re.Match[str], state: Scan) -> str | None:
    if re.match("[A-Za-z]", state.before(match.start(), 1)):
        return None
    return f"零点{spell_digits(match[1])}"


def _spelled_point(match: re.Match[str], state: Scan) -> str:
    return "点"


def _single(match: re.Match[str], state: Scan) -> str:
    return amount(state, match[0], match.start(), match.end())


def _science(match: re.Match[str], state: Scan) -> str:
    power = ("负" if match[2] else "") + spell_integer(match[3])
    return f"{amount(state, match[1], 0, len(state.text))}乘十的{power}次方"


def _definition(match: re.Match[str], state: Scan) -> str:
    return spell_digits(match[1])


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add(
        "percent",
        "d",
        rf"(?P<one>{NUMBER})%?(?:{TO}(?P<two>{NUMBER}))?\s?(?P<sign>[%‰％])(?:\s?vol(?![a-z]))?",
    )(_percent)
    negative = rf"[-−](?P<one>{NUMBER})\s?(?P<sign>[%‰])"
    add("percent.negative", "s", negative)(_negative)
    add("percent.trend", "s", rf"([↑↓])\s?(?={NUMBER})")(_trend)
    add("fraction", "d", r"(\d{1,3})/(\d{1,3})(?![\d/.])")(_fraction)
    add("math.minus", "d", rf"({NUMBER})\s?[-−]\s?({NUMBER})(?=\s?=)")(_minus)
    add("number.science", "d", rf"({NUMBER})[eE]([-−]?)\+?(\d{{1,3}})(?![\dA-Za-z])")(
        _science
    )
    add("screen", "d", r"(1080|720|480|2160|1440|4320)(?=[Pp](?![A-Za-z]))")(
        _definition
    )
    add(
        "size",
        "d",
        rf"(?P<sizes>{NUMBER}(?:\s?[×xX*✕]\s?{NUMBER})+)(?![\d.])(?:\s?(?P<unit>{UNIT}){GUARD})?",
    )(_times)
    add(
        "range",
        "d",
        rf"(?P<one>{NUMBER})(?P<unit>{UNIT})?{TO}(?P<two>{NUMBER})(?!\d|\.\d|[-:：]\d)(?:\s?(?P<last>{UNIT}){GUARD})?",
    )(_range)
    add("number.more", "d", rf"({NUMBER})\+(?=[款种个家人件项名位门店元万余本张条类])")(
        _more
    )
    add("floor", "d", r"(\d{1,2})/?F(?![A-Za-z0-9])")(_floor)
    add("number.shorthand", "d", rf"({NUMBER})([wWkK])(?=\+)")(_shorthand)
    add(
        "number.shorthand",
        "d",
        rf"({NUMBER})([wW])(?=像素|粉|人|阅|播放|销量|用户|次|份|件)",
    )(_shorthand)
    add("number.hash", "d", r"(\d{1,3})#(?=汽油|柴油|楼|门|桌|窗|店|库)")(_hash)
    add("unit.inch", "d", rf"({NUMBER})(?:″|\"(?=屏|电视|显示|液晶|平板|手机))")(_inch)
    add("unit.electric", "d", rf"({NUMBER})V\s?[/,]?\s?({NUMBER})A(?![A-Za-z])")(
        _electric
    )
    add("number.piece", "d", r"(\d+)块(\d)(?![\d.])")(_piece)
    add("number.some", "d", r"(\d*[1-9]0+)(?=[几多余来])")(_some)
    add("unit", "d", rf"(?P<number>{NUMBER})\s?(?P<unit>{UNIT}){GUARD}")(_unit)
    signs = "".join(unit for unit in SIGN_UNITS if len(unit) == 1)
    add("unit", "d", rf"(?P<number>{NUMBER})\s?(?P<unit>[{signs}])")(_unit)
    add(
        "number.fineness",
        "d",
        r"(9{3,4}|990|925|950|916|750)(?=足金|千足|纯?银|铂|[黄K]金)",
    )(_definition)
    add("number.road", "d", r"(\d{3})(?=国道|省道|县道)")(_definition)
    add("number.metres", "d", r"(\d)米(\d{2})(?![\d.])")(_metres)
    add("time.minutes", "d", r"(\d{1,2})['′](\d{1,2})(?:\"|″|'')")(_minutes)
    add("number.point", "s", r"(?<![\d.])\.(\d+)(?![\d.])")(_point)
    add(
        "number.point",
        "s",
        r"(?<=[零〇一二两三四五六七八九十百千万])(?<![周期拜第初][一二三四五六七八九十])\."
        r"(?=[零〇一二三四五六七八九]{1,2}(?:元(?!旦)|块|折(?!扣)))",
    )(_spelled_point)
    add("number", "d", NUMBER)(_single)
