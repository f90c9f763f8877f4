"""What is not spoken: spaces, quotes, emoji, ornaments; and what nobody can read."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from common.text.receipt import UNREAD_RULE
from common.text.rules.signs.pauses import QUOTES
from common.text.scan import RuleBook, Scan, Token

_FIRST_PICTURE = 0x2600
"""Symbols from here on are pictures, earlier ones ornaments."""
_WRITTEN = frozenset(map(chr, range(0x3200, 0x3400))) - {"㊗", "㊙"}
"""Words in one character, such as ㈱ and ㍿; the two left out are emoji."""
_ORNAMENTS = frozenset("∗∘∙∣∧∨⋄⋅⋆⋮⋯⋰⋱∎")
"""Of the operators of mathematics, those that only decorate or part."""
_REPLACED = "\ufffd"
"""Stands where a character was lost on its way."""


@lru_cache(maxsize=4096)
def silent_rule(character: str) -> str:
    """The rule by which a character is silent, or ``unread``."""
    category = unicodedata.category(character)
    if character in _WRITTEN or character == _REPLACED:
        return UNREAD_RULE
    if "\u2200" <= character <= "\u22ff" and character not in _ORNAMENTS:
        # It means something, and has no name here: better a refusal than a gap.
        return UNREAD_RULE
    if character in QUOTES:
        return "silent.quote"
    if category in ("Zs", "Zl", "Zp") or character == "\t":
        return "silent.space"
    if category in ("Cc", "Cf") or "\ufe00" <= character <= "\ufe0f":
        return "silent.control"
    if category == "So" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return "silent.emoji" if ord(character) >= _FIRST_PICTURE else "silent.symbol"
    if category == "Me":
        return "silent.emoji"
    if category in ("Sm", "Sk", "Po", "Pd", "Ps", "Pe", "Pi", "Pf", "Pc"):
        return "silent.symbol"
    return UNREAD_RULE


def _silent(match: re.Match[str], state: Scan) -> Token:
    return Token(match.start(), match.end(), "", silent_rule(match[0]))


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    book.rule("silent", "sl", r"(?s:.)")(_silent)
