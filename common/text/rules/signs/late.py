"""Signs after numbers and words: math, numerals, connectors, pauses, silent marks."""

from __future__ import annotations

import re
import unicodedata

from common.text.numbers import spell_integer
from common.text.receipt import UNREAD_RULE
from common.text.scan import RuleBook, Scan, Token, kind_of

_MATH = {
    "+": "加",
    "=": "等于",
    "×": "乘",
    "÷": "除以",
    ">": "大于",
    "<": "小于",
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
}
_PAUSES = {
    **dict.fromkeys(",，()（）【】[]〔〕{}｛｝|｜﹐⸺\n\r\v\f\u2028\u2029", ","),
    **dict.fromkeys("、﹑", "、"),
    **dict.fromkeys("。．｡.", "."),
    **dict.fromkeys("!！❗‼", "!"),
    **dict.fromkeys("?？❓", "?"),
    **dict.fromkeys(";；", ";"),
    **dict.fromkeys(":：", ":"),
    **dict.fromkeys("…⋯", "…"),
    **dict.fromkeys("—―", "—"),
}
_STRENGTH = ".!?…;:—,、"
_MARK = {
    ",": "，",
    "、": "、",
    ".": "。",
    "!": "！",
    "?": "？",
    ";": "；",
    ":": "：",
    "…": "…",
    "—": "—",
}
_QUOTES = "《》〈〉「」『』“”‘’\"'＂＇﹁﹂«»`´′″"
_PAUSE_CLASS = "".join(re.escape(c) for c in _PAUSES)
_ROMAN = {chr(0x2160 + i): i + 1 for i in range(12)} | {
    chr(0x2170 + i): i + 1 for i in range(12)
}
_CIRCLED = (
    {chr(0x2460 + i): i + 1 for i in range(20)}
    | {chr(0x2474 + i): i + 1 for i in range(20)}
    | {chr(0x2488 + i): i + 1 for i in range(20)}
    | {chr(0x3220 + i): i + 1 for i in range(10)}
    | {chr(0x3280 + i): i + 1 for i in range(10)}
    | {chr(0x2776 + i): i + 1 for i in range(10)}
)
_RANGE_SIDE = re.compile(
    r"(?:[\d日号月年点分时℃%元]|周[一二三四五六日天]|星期[一二三四五六日天]|[上下]午)$"
)
_RANGE_NEXT = re.compile(
    r"(?:\d|周[一二三四五六日天]|星期|次日|翌日|凌晨|[上下中]午|早|晚|-?\d)"
)


def _math(match: re.Match[str], state: Scan) -> str | None:
    return _MATH[match[0]]


def _star(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    if match[0].strip() in ("x", "X") and not before.isdigit():
        return None
    if (
        before
        and after.isdigit()
        and re.match(r"[0-9A-Za-z㎡℃个袋瓶包支片盒克升米]", before)
    ):
        return "乘"
    return None


def _roman(match: re.Match[str], state: Scan) -> str:
    return spell_integer(str(_ROMAN[match[0]]))


def _circled(match: re.Match[str], state: Scan) -> str:
    return spell_integer(str(_CIRCLED[match[0]]))


def _connector(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 6), state.after(match.end(), 6)
    if _RANGE_SIDE.search(before) and _RANGE_NEXT.match(after):
        return "至" if state.dialect == "gd" else "到"
    return None


def _tilde(match: re.Match[str], state: Scan) -> Token:
    return Token(match.start(), match.end(), "", "silent.symbol")


def _slash(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    if not before or not after:
        return None
    if kind_of(before) in "hl" and kind_of(after) in "hl":
        return "或"
    return None


def _and(match: re.Match[str], state: Scan) -> str:
    before, after = state.before(match.start(), 1), state.after(match.end(), 1)
    latin = before and after and kind_of(before) == kind_of(after) == "l"
    return " and " if latin else "和"


def _pause(match: re.Match[str], state: Scan) -> Token:
    found = [_PAUSES[c] for c in match[0] if c in _PAUSES]
    mark = min(found, key=_STRENGTH.index)
    return Token(match.start(), match.end(), _MARK[mark], "pause", mark)


def _silent(match: re.Match[str], state: Scan) -> Token | None:
    character = match[0][0]
    category = unicodedata.category(character)
    name = None
    if character in _QUOTES:
        name = "silent.quote"
    elif category in ("Zs", "Zl", "Zp") or character in "\t \u3000":
        name = "silent.space"
    elif category in ("Cc", "Cf") or "\ufe00" <= character <= "\ufe0f":
        name = "silent.control"
    elif category == "So" or "\U0001f3fb" <= character <= "\U0001f3ff":
        name = "silent.emoji" if ord(character) >= 0x2600 else "silent.symbol"
    elif category in ("Sm", "Sk", "Po", "Pd", "Ps", "Pe", "Pi", "Pf", "Pc"):
        name = "silent.symbol"
    elif category == "Me" or category == "Mn" and character in "\u20e3":
        name = "silent.emoji"
    if name is None:
        return Token(match.start(), match.end(), "", UNREAD_RULE)
    return Token(match.start(), match.end(), "", name)


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    roman, circled = "".join(_ROMAN), "".join(_CIRCLED)
    add("numeral.roman", "s", f"[{roman}]")(_roman)
    add("numeral.circled", "s", f"[{circled}]")(_circled)
    add("range.connector", "s", r"\s?(?:-{1,2}|~|—{1,2}|–|～|〜|∼|－)\s?")(_connector)
    add("math.times", "s", r"\s?[*✕xX]\s?")(_star)
    add("math", "s", "[" + "".join(re.escape(c) for c in _MATH) + "]")(_math)
    add("sign.at", "s", "@")(lambda match, state: "艾特")
    add("sign.and", "s", r"\s?&\s?")(_and)
    add("sign.or", "s", "/")(_slash)
    add(
        "pause",
        "s",
        rf"[{_PAUSE_CLASS}](?:[{_PAUSE_CLASS}{_QUOTES}\s]*[{_PAUSE_CLASS}{_QUOTES}])?",
    )(_pause)
    add("silent", "s", r"(?s:.)")(_silent)
