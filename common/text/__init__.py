"""Reading: from a line of signage to the syllables a voice will say, with reasons.

:func:`read` is what trainer, cloud and box all call. It never guesses silently: every
character of the input is in a span that names its rule, or in ``unread``.
"""

from __future__ import annotations

from common.errors import YaoheError
from common.text import forms, mandarin, reader
from common.text.lexicon import Lexicon
from common.text.receipt import Reading
from common.text.rules import BOOK
from common.text.scan import Scan, scan
from common.text.symbols import DIALECTS

RULES_VERSION = 1
"""Raised by every change that can alter a reading."""
MAX_CHARACTERS = 100_000
"""Longest text that is read at all."""

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
    unified = forms.convert(forms.unify(text), "t2s")
    state = Scan(unified, dialect, context or "")
    scan(state, BOOK, 0, len(unified))
    return reader.build(text, dialect, state.tokens, mandarin.pronounce)
