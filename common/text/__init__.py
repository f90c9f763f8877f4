"""Reading: from a line of signage to the syllables a voice will say, with reasons.

:func:`read` is what trainer, cloud and box all call. It never guesses silently: every
character of the input is in a span that names its rule, or in ``unread``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from common.errors import YaoheError
from common.text import cantonese, chengdu, forms, mandarin, reader
from common.text.lexicon import Lexicon
from common.text.receipt import Reading
from common.text.rules import BOOK, ENGLISH
from common.text.rules.english import is_english
from common.text.scan import HAN_RULE, Scan, Token, scan
from common.text.symbols import DIALECTS

RULES_VERSION = 1
"""Raised by every change that can alter a reading."""
MAX_CHARACTERS = 100_000
"""Longest text that is read at all."""

_SENTENCE = re.compile(r"[^。！？!?\n]*(?:[。！？!?\n]+|$)")

PRONOUNCE: Mapping[str, reader.Pronounce] = {
    "zh": mandarin.pronounce,
    "gd": cantonese.pronounce,
    "sc": chengdu.pronounce,
}

__all__ = ["MAX_CHARACTERS", "Lexicon", "RULES_VERSION", "Reading", "read"]


def read(
    text: str,
    dialect: str = "zh",
    *,
    lexicon: Lexicon | None = None,
    context: str | None = None,
    ssml: bool = False,
) -> Reading:
    """Read a text.

    Args:
        text: Any string.
        dialect: ``zh``, ``gd`` or ``sc``.
        lexicon: The shop's own readings; they win over every rule.
        context: What the text is about where forms are ambiguous: ``price``, ``date``.
        ssml: Whether the text is marked up.

    Returns:
        The reading.

    Raises:
        YaoheError: ``unknown_dialect`` or ``input_too_long``.
    """
    if dialect not in DIALECTS:
        raise YaoheError(
            "unknown_dialect", f"unknown dialect {dialect!r}", param="dialect"
        )
    if len(text) > MAX_CHARACTERS:
        raise YaoheError(
            "input_too_long",
            f"text is longer than {MAX_CHARACTERS} characters",
            param="input",
        )
    unified = forms.unify(text)
    simplified = forms.convert(unified, "t2s")
    state = Scan(simplified, dialect, context or "")
    for sentence in _SENTENCE.finditer(simplified):
        state.is_english = is_english(sentence[0])
        book = ENGLISH if state.is_english else BOOK
        scan(state, book, sentence.start(), sentence.end())
    tokens = state.tokens
    if dialect == "gd":
        tokens = _in_traditional(tokens, unified, simplified)
    return reader.build(text, dialect, tokens, PRONOUNCE[dialect])


def _in_traditional(tokens: list[Token], unified: str, simplified: str) -> list[Token]:
    """Give Chinese its traditional characters back; what rules said is converted."""
    written = unified if unified != simplified else forms.convert(unified, "s2hk")
    return [
        replace(
            token,
            spoken=(
                written[token.start : token.end]
                if token.rule == HAN_RULE
                else forms.convert(token.spoken, "s2hk")
            ),
        )
        for token in tokens
    ]
