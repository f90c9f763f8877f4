"""Latin words, letters and codes between Chinese, and what their digits mean."""

from __future__ import annotations

import re

from common.text import english
from common.text.numbers import spell_digits, spell_integer
from common.text.receipt import UNREAD_RULE
from common.text.rules.counters import UNIT, unit_word
from common.text.scan import RuleBook, Scan, Token

_WORD = r"[A-Za-zÀ-ɏ]+(?:['’][A-Za-zÀ-ɏ]+)*(?:-[A-Za-zÀ-ɏ]{2,})*"
_ROMAN_LETTERS = {
    "II": 2,
    "III": 3,
    "IV": 4,
    "VI": 6,
    "VII": 7,
    "VIII": 8,
    "IX": 9,
    "V": 5,
    "I": 1,
    "X": 10,
}


def _number_one(match: re.Match[str], state: Scan) -> str:
    return "第" + spell_integer(match[1])


def _o2o(match: re.Match[str], state: Scan) -> str:
    return f"{match[1]} to {match[2]}"


def _letters_range(match: re.Match[str], state: Scan) -> str | None:
    if re.search(r"[A-Za-z]$", state.before(match.start(), 1)):
        return None
    return f"{match[1]}到{match[2]}"


def _roman(match: re.Match[str], state: Scan) -> str | None:
    if state.before(match.start(), 1) != "第" and not re.match(
        r"[级期章类型代]", state.after(match.end(), 1)
    ):
        return None
    return spell_integer(str(_ROMAN_LETTERS[match[0]]))


def _floor(match: re.Match[str], state: Scan) -> str:
    if match[1] == "G" and state.dialect == "gd":
        return "地下"
    return match[1][0] + spell_digits(match[1][1:]) + "楼"


def _unit(match: re.Match[str], state: Scan) -> str | None:
    if state.before(match.start(), 4).rstrip()[-1:] not in tuple("每半几数"):
        return None
    return unit_word(match[1]) if len(match[1]) > 1 or match[1] in "gLlm" else None


def _word(match: re.Match[str], state: Scan) -> str | Token:
    if not english.pronounce(match[0])[0]:
        return Token(match.start(), match.end(), "", UNREAD_RULE)
    return match[0]


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("ordinal.number", "l", r"[Nn][Oo]\.\s?(\d+)")(_number_one)
    add("latin.to", "l", r"([OBCPG])2([OBCPG])(?![A-Za-z])")(_o2o)
    add("range.letters", "l", r"([A-Z])\s?[-~～—–至到]\s?([A-Z])(?![A-Za-z0-9.])")(
        _letters_range
    )
    add("floor", "l", r"([A-Z]\d?)/F(?![A-Za-z0-9])")(_floor)
    add("numeral.roman", "l", r"(?:VIII|VII|III|VI|IV|IX|II)(?![A-Za-z0-9])")(_roman)
    add("unit", "l", rf"({UNIT})(?![A-Za-z])")(_unit)
    add("latin.word", "l", _WORD)(_word)
