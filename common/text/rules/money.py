"""Money: signs and codes before the amount, unit prices, discounts, 满减."""

from __future__ import annotations

import re

from common.text.numbers import spell_digits, spell_number
from common.text.rules.amounts import (
    NUMBER,
    TO,
    amount,
    pair_word,
    plain,
    to_word,
    without_zeros,
)
from common.text.rules.counters import (
    COUNTED_BY_SLASH,
    GUARD,
    HAN_UNIT,
    UNIT,
    unit_word,
)
from common.text.scan import RuleBook, Scan

_CURRENCIES = {
    "¥": "元",
    "￥": "元",
    "RMB": "元",
    "CNY": "元",
    "HK$": "港元",
    "HKD": "港元",
    "US$": "美元",
    "USD": "美元",
    "$": "美元",
    "NT$": "新台币",
    "TWD": "新台币",
    "MOP": "澳门元",
    "€": "欧元",
    "EUR": "欧元",
    "£": "英镑",
    "GBP": "英镑",
    "JPY": "日元",
    "₩": "韩元",
    "KRW": "韩元",
    "S$": "新加坡元",
    "SGD": "新加坡元",
    "A$": "澳元",
    "฿": "泰铢",
}
_SIGNS = "|".join(re.escape(s) for s in sorted(_CURRENCIES, key=len, reverse=True))


_UNCOUNTED = frozenset("号 月 日 期 班 页 名 元 块 角 毛 分".split())
"""Never counted after the slash of a price: 100元/50元 are two prices."""
_PRICED = re.compile(
    r"(?:[\dA-Za-z元块角毛分圆币镑价起㎡℃]|[\d一二三四五六七八九十百千万半][一-龥]{1,4}|/[一-龥]{1,3})\s?$"
)


def _currency(sign: str, state: Scan) -> str:
    if state.dialect == "gd" and sign in ("$", "HK$", "HKD"):
        return "元"
    return _CURRENCIES[sign]


def _money(match: re.Match[str], state: Scan) -> str | None:
    sign, number = match["sign"], match["number"]
    scale = match["scale"] or ""
    word = _currency(sign, state)
    said = _amount(state, number)
    other = match["other"]
    if other:
        said += to_word(match, state) + _amount(state, other)
    tail = match["own"] or word
    if match["own"] and match["own"] in "元块圆" and word != "元":
        tail = word
    return f"{said}{scale}{tail}"


def _amount(state: Scan, number: str) -> str:
    number = without_zeros(number)
    return "两" if number == "2" else spell_number(number, pair=pair_word(state))


def _yuan(match: re.Match[str], state: Scan) -> str:
    return _amount(state, match[1])


def _per(match: re.Match[str], state: Scan) -> str | None:
    if not _PRICED.search(state.before(match.start(), 6)):
        return None
    unit = match["latin"]
    count = match["count"] or ""
    if count and (unit or "") not in COUNTED_BY_SLASH | {""}:
        return None
    if count and match["han"] in _UNCOUNTED:
        return None
    if count:
        count = amount(
            state, count, 0, match.start("latin") if unit else match.start("han")
        )
    if unit:
        return "每" + count + unit_word(unit)
    return "每" + count + match["han"]


def _discount(match: re.Match[str], state: Scan) -> str | None:
    def one(number: str) -> str:
        if len(number) == 2 and number[1] != "0":
            return spell_digits(number)
        return spell_number(number)

    said = one(match[1])
    if match[3]:
        said += to_word(match, state) + one(match[3])
    return said + "折"


def _full_minus(match: re.Match[str], state: Scan) -> str | None:
    if not re.search(r"[满滿]\s?[¥￥]?$", state.before(match.start(), 3)):
        return None
    first, second = match[1], match[3]
    if float(plain(second)) >= float(plain(first)):
        return None
    unit, tail = match[2] or "", match[4] or ""
    return f"{_amount(state, first)}{unit}减{_amount(state, second)}{tail}"


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    money = (
        rf"(?P<sign>{_SIGNS})\s?(?P<number>{NUMBER})"
        rf"(?:{TO}(?:{_SIGNS})?(?P<other>{NUMBER}))?(?P<scale>[万亿千]?)(?P<own>美元|港元|港币|欧元|元|块|圆)?"
    )
    add(
        "money.full_minus",
        "ds",
        rf"[¥￥]?({NUMBER})(元?)\s?[-—–]\s?[¥￥]?({NUMBER})(元?)(?!\d)",
    )(_full_minus)
    add("money.sign", "sl", money)(_money)
    add(
        "money.unit_price",
        "s",
        rf"\s?/\s?(?P<count>\d+)?(?:(?P<latin>{UNIT}){GUARD}|(?P<han>{HAN_UNIT}))",
    )(_per)
    add(
        "money.discount",
        "d",
        rf"(\d{{1,2}}(?:\.\d)?)(?:{TO}(\d{{1,2}}(?:\.\d)?))?\s?折",
    )(_discount)
    add(
        "money.amount",
        "d",
        rf"({NUMBER})(?=\s?(?:元|块钱|美元|港元|港币|欧元|英镑|日元|人民币))",
    )(_yuan)
