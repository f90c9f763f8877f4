"""The scanner: one pass over the text, ordered named rules, every character in a token.

Rules of this module: a rule never sees half a match of an earlier one; the first rule
that accepts at a position wins; whatever no rule accepts becomes an ``unread`` token,
so nothing is dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from common.text.receipt import UNREAD_RULE

HAN = (
    r"〇々\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0002fa1f\U00030000-\U000323af"
)
"""Inside of a character class: Chinese characters."""

_HAN_RUN = re.compile(f"[{HAN}]+")

HAN_RULE = "han"


@dataclass(frozen=True)
class Token:
    """A stretch of input and what it becomes, before pronunciation.

    Attributes:
        start: First character.
        end: One past the last.
        spoken: Words it becomes; a pause mark for pauses; empty where silent.
        rule: Name of the rule that decided.
        pause: Symbol of the pause, empty for words.
        readings: Syllables that the user fixed; empty for ordinary tokens.
        ms: Length of an explicit break.
        style: Index into the passage styles, 0 for plain.
        language: Dialect it is spoken in; empty for the text's own.
    """

    start: int
    end: int
    spoken: str
    rule: str
    pause: str = ""
    readings: tuple[str, ...] = ()
    ms: int = 0
    style: int = 0
    language: str = ""

    def silenced(self, rule: str) -> Token:
        """The same stretch, silent, by another rule."""
        return replace(self, spoken="", rule=rule, pause="")


Speaker = Callable[["re.Match[str]", "Scan"], "Token | tuple[str, int] | str | None"]


@dataclass(frozen=True)
class Rule:
    """A named rule.

    Attributes:
        name: Stable dotted name that the receipt shows.
        pattern: What it may begin with, matched at the scanning position.
        speak: Words for a match; ``None`` declines; a tuple also sets the end.
    """

    name: str
    pattern: re.Pattern[str]
    speak: Speaker


class RuleBook:
    """Ordered rules, sorted by the kind of character they may begin with."""

    def __init__(self) -> None:
        """Start empty."""
        self._rules: dict[str, list[Rule]] = {"d": [], "l": [], "s": []}

    def rule(
        self, name: str, starts: str, pattern: str
    ) -> Callable[[Speaker], Speaker]:
        """Register a function as a rule.

        Args:
            name: The rule's name.
            starts: Kinds it may begin with: ``d`` digit, ``l`` Latin, ``s`` sign.
            pattern: Regular expression, matched at the position.

        Returns:
            A decorator that leaves the function unchanged.
        """

        def register(speak: Speaker) -> Speaker:
            made = Rule(name, re.compile(pattern), speak)
            for kind in starts:
                self._rules[kind].append(made)
            return speak

        return register

    def starting(self, kind: str) -> list[Rule]:
        """Rules for one kind of character, in order."""
        return self._rules[kind]


@dataclass
class Scan:
    """State of one pass.

    Attributes:
        text: Text with one character per input character, forms unified.
        dialect: ``zh``, ``gd`` or ``sc``.
        context: Hint of the caller, such as ``price`` or ``date``.
        is_english: The passage has no Chinese and reads as English.
        tokens: What was found so far.
    """

    text: str
    dialect: str
    context: str = ""
    is_english: bool = False
    tokens: list[Token] = field(default_factory=list)

    def before(self, start: int, length: int = 12) -> str:
        """Characters before a position."""
        return self.text[max(0, start - length) : start]

    def after(self, end: int, length: int = 12) -> str:
        """Characters from a position on."""
        return self.text[end : end + length]


@lru_cache(maxsize=8192)
def kind_of(character: str) -> str:
    """Kind of a character: ``h`` Han, ``d`` digit, ``l`` Latin letter, ``s`` else."""
    if _HAN_RUN.match(character):
        return "h"
    if "0" <= character <= "9":
        return "d"
    if character.isascii() and character.isalpha():
        return "l"
    if "À" <= character <= "ɏ" and character.isalpha():
        return "l"
    return "s"


def scan(state: Scan, book: RuleBook, start: int, end: int) -> list[Token]:
    """Cut a passage into tokens.

    Args:
        state: The pass; its ``tokens`` grow.
        book: Rules in order.
        start: First character of the passage.
        end: One past its last; no token crosses it.

    Returns:
        The passage's tokens.
    """
    text, position = state.text, start
    begin = len(state.tokens)
    while position < end:
        kind = kind_of(text[position])
        if kind == "h":
            match = _HAN_RUN.match(text, position, end)
            stop = match.end() if match else position + 1
            state.tokens.append(Token(position, stop, text[position:stop], HAN_RULE))
            position = stop
            continue
        token = _first(state, book.starting(kind), position, end)
        state.tokens.append(token)
        position = token.end
    return state.tokens[begin:]


def _first(state: Scan, rules: list[Rule], position: int, end: int) -> Token:
    """The token of the first rule that accepts here."""
    for rule in rules:
        match = rule.pattern.match(state.text, position, end)
        if match is None:
            continue
        answer = rule.speak(match, state)
        if answer is None:
            continue
        if isinstance(answer, Token):
            return answer
        spoken, stop = answer if isinstance(answer, tuple) else (answer, match.end())
        return Token(position, stop, spoken, rule.name)
    return Token(position, position + 1, "", UNREAD_RULE)
