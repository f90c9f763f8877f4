"""Numbers and signs inside an English sentence, said in English."""

from __future__ import annotations

import re

from common.text.rules.amounts import NUMBER, plain
from common.text.scan import RuleBook, Scan

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
MAX_DIGITS = 15
_SCALES = ("", " thousand", " million", " billion", " trillion")
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_NAMED = re.compile(
    r"(?:gate|room|flight|bus|floor|platform|counter|code|pin|no\.?|number|suite|exit)\s$",
    re.IGNORECASE,
)
_UNITS = {"kg": "kilograms", "g": "grams", "ml": "milliliters", "km": "kilometers"}
_FUNCTION_WORDS = re.compile(
    r"\b(?:the|a|an|is|are|at|to|of|in|on|for|and|or|with|from|please|your|our|you|we|"
    r"open|opens|close|closes|closed|off|now|only|free|no|not|get|buy|per|by)\b",
    re.IGNORECASE,
)
_LATIN_WORDS = re.compile(r"[A-Za-z]{2,}")
_NOT_ENGLISH = re.compile("[\u3000-\u9fff\uff00-\uffef]")


def is_english(sentence: str) -> bool:
    """Whether a sentence without Chinese reads as English."""
    if _NOT_ENGLISH.search(sentence):
        return False
    return len(_LATIN_WORDS.findall(sentence)) >= 2 and bool(
        _FUNCTION_WORDS.search(sentence)
    )


def digits(number: str) -> str:
    """Digits one by one."""
    return " ".join(_ONES[int(d)] for d in number if d.isdigit())


def _below_thousand(value: int) -> str:
    words: list[str] = []
    if value >= 100:
        words += [_ONES[value // 100], "hundred"]
        value %= 100
    if value >= 20:
        words.append(_TENS[value // 10])
        value %= 10
        if value:
            words.append(_ONES[value])
    elif value or not words:
        words.append(_ONES[value])
    return " ".join(words)


def cardinal(number: str) -> str:
    """A number in words, decimals digit by digit."""
    whole, _, decimals = plain(number).partition(".")
    if len(whole) > MAX_DIGITS:
        return digits(number)
    value = int(whole or "0")
    groups: list[str] = []
    for scale in _SCALES:
        value, part = divmod(value, 1000)
        if part:
            groups.append(_below_thousand(part) + scale)
    said = " ".join(reversed(groups)) or "zero"
    return f"{said} point {digits(decimals)}" if decimals else said


def _ordinal(match: re.Match[str], state: Scan) -> str:
    head, _, last = cardinal(match[1]).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return f"{head} {last}".strip()


def _clock(match: re.Match[str], state: Scan) -> str | None:
    hour, minute = match[1], match[2]
    if int(hour) > 24 or int(minute) > 59:
        return None
    if int(minute) == 0:
        return cardinal(hour)
    between = " oh " if int(minute) < 10 else " "
    return cardinal(hour) + between + cardinal(minute)


def _money(match: re.Match[str], state: Scan) -> str:
    name = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yuan"}[match[1]]
    one = plain(match[2]) == "1" or name == "yuan"
    return f"{cardinal(match[2])} {name}{'' if one else 's'}"


def _number(match: re.Match[str], state: Scan) -> str:
    number = match[0]
    named = _NAMED.search(state.before(match.start()))
    if "." not in number and (
        (named and len(number) >= 3) or (number.startswith("0") and len(number) > 1)
    ):
        return digits(number)
    return cardinal(number)


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("english.clock", "d", r"(\d{1,2}):(\d{2})(?!\d)")(_clock)
    add("english.money", "s", rf"([$€£¥])\s?({NUMBER})")(_money)
    add("english.percent", "d", rf"({NUMBER})%")(
        lambda match, state: f"{cardinal(match[1])} percent"
    )
    add("english.ordinal", "d", r"(\d+)(?:st|nd|rd|th)(?![A-Za-z])")(_ordinal)
    add("english.unit", "d", rf"({NUMBER})\s?(kg|ml|km|g)(?![A-Za-z])")(
        lambda match, state: f"{cardinal(match[1])} {_UNITS[match[2]]}"
    )
    add("english.long", "d", r"\d{7,}")(lambda match, state: digits(match[0]))
    add("english.number", "d", NUMBER)(_number)
    add("english.sign", "s", r"\s?&\s?")(lambda match, state: " and ")
    add("english.sign", "s", r"\s?\+\s?")(lambda match, state: " plus ")
    add("english.sign", "s", r"\s?=\s?")(lambda match, state: " equals ")
    add("english.sign", "s", "@")(lambda match, state: " at ")
