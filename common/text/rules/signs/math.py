"""Signs of mathematics and comparison, units that stand alone, superscripts."""

from __future__ import annotations

import re

from common.text.scan import RuleBook, Scan, Token, kind_of

_MATH = {
    "+": "加",
    "=": "等于",
    "×": "乘",
    "÷": "除以",
    "≥": "大于等于",
    "≧": "大于等于",
    "≤": "小于等于",
    "≦": "小于等于",
    "≠": "不等于",
    "≈": "约等于",
    "±": "正负",
    "≡": "恒等于",
    "√": "根号",
    "∞": "无穷大",
    "∶": "比",
    "∑": "求和",
    "∏": "求积",
    "∫": "积分",
    "∂": "偏导",
    "∆": "德尔塔",
    "∈": "属于",
    "∉": "不属于",
    "∀": "任意",
    "∃": "存在",
    "∅": "空集",
    "∠": "角",
    "∝": "正比于",
    "∵": "因为",
    "∴": "所以",
    "²": "平方",
    "³": "立方",
}
_ALONE = {
    "℃": "摄氏度",
    "℉": "华氏度",
    "㎡": "平方米",
    "㎥": "立方米",
    "㎏": "公斤",
    "㎝": "厘米",
    "°": "度",
    "%": "百分号",
    "‰": "千分号",
    "№": "号",
}
_COMPARED = {">": "大于", "<": "小于"}
_OPERAND = re.compile(r"\s?[=-]?\s?(?:\d|[A-Za-z](?![A-Za-z]))")


def _math(match: re.Match[str], state: Scan) -> str | Token:
    return _MATH[match[0].strip()]


def _rule_line(match: re.Match[str], state: Scan) -> Token:
    return Token(match.start(), match.end(), "", "silent.symbol")


def _compared(match: re.Match[str], state: Scan) -> str | None:
    """A comparison needs something to compare with; else it is a bracket or arrow."""
    if not _OPERAND.match(state.after(match.end(), 4)):
        return None
    before = state.before(match.start(), 2).rstrip()
    if before and kind_of(before[-1]) == "s" and before[-1] not in ")）%℃":
        return None
    return _COMPARED[match[1]] + ("等于" if match[2] else "")


def _times(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    if match[0].strip() in ("x", "X") and not before.isdigit():
        return None
    if after.isdigit() and re.match(
        r"[0-9A-Za-z㎡℃个袋瓶包支片盒克升米条罐听]", before
    ):
        return "乘"
    return None


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("silent.symbol", "s", r"[=+*_~～#-]{3,}|={2,}")(_rule_line)
    add("silent.symbol", "s", r"(?:(?<=\n)|^)[>+*#-]{1,6}\s")(_rule_line)
    add("math.compare", "s", r"([<>])\s?(=?)")(_compared)
    add("math.unequal", "s", "!=")(lambda match, state: "不等于")
    add("math.times", "sl", r"\s?[*✕xX]\s?")(_times)
    signs = "".join(re.escape(sign) for sign in _MATH)
    add("math", "s", rf"\s?[{signs}]")(_math)
    alone = "".join(_ALONE)
    add("sign.unit", "s", f"[{alone}]")(lambda match, state: _ALONE[match[0]])
