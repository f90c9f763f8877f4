"""Reading: from a line of signage to the syllables a voice will say, with reasons.

:func:`read` is what trainer, cloud and box all call. It never guesses silently: every
character of the input is in a span that names its rule, or in ``unread``.

A user decides a reading in place by ``{word|reading}``, where the reading is syllables
(``{行|hang2}``, ``{Xiaomi|SH.AW1 M.IY2}``), other words (``{9.9|=九块九}``) or
``letters``; for a whole shop by a :class:`Lexicon`. Both win over every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from common.errors import YaoheError
from common.text import cantonese, chengdu, mandarin, reader
from common.text.lexicon import RULES as LEXICON_RULES
from common.text.lexicon import Lexicon, LexiconFile
from common.text.prepare import tokens_of
from common.text.receipt import Language, Reading
from common.text.symbols import DIALECTS

RULES_VERSION = 1
"""Raised by every change that can alter a reading."""
MAX_CHARACTERS = 100_000
"""Longest text that is read at all."""

VOICES: Mapping[Language, reader.Voice] = {
    "zh": reader.Voice(mandarin.pronounce, mandarin.knows),
    "gd": reader.Voice(cantonese.pronounce, cantonese.knows),
    "sc": reader.Voice(chengdu.pronounce, mandarin.knows),
}

__all__ = [
    "MAX_CHARACTERS",
    "RULES_VERSION",
    "Lexicon",
    "LexiconFile",
    "Reading",
    "read",
]


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
        context: What ambiguous forms are about: ``price``, ``date``, ``time``,
            ``telephone``, ``digits``; unknown hints are ignored.
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
    tokens, styles = tokens_of(
        text, dialect, lexicon=lexicon, context=context or "", marked_up=ssml
    )
    reading = reader.build(text, cast("Language", dialect), tokens, VOICES, styles)
    if lexicon and any(span.rule in LEXICON_RULES for span in reading.spans):
        return replace(reading, lexicon_sha256=lexicon.digest)
    return reading
