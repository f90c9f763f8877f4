"""Carries a shop's own readings to somebody who does not have its lexicon.

What a lexicon decided is written into the text as a user would write it: as an inline
override, or as an element where the text is marked up.
"""

from __future__ import annotations

import html

from common.text.lexicon import RULES
from common.text.receipt import Reading, Span

_BREAKS_INLINE = frozenset("{}|\n")


def carried(reading: Reading, *, ssml: bool = False) -> str:
    """Write into a text what the lexicon decided about it.

    Args:
        reading: A reading made with a lexicon.
        ssml: Whether its text is marked up.

    Returns:
        The text, which sounds the same without the lexicon.
    """
    write = _element if ssml else _inline
    return "".join(
        write(span, reading) if span.rule in RULES else span.text
        for span in reading.spans
    )


def _said(span: Span, reading: Reading) -> str:
    """The span's syllables; empty where its words are to be read."""
    if span.rule != "lexicon.reading":
        return ""
    return " ".join(reading.syllables[span.first : span.first + span.count])


def _inline(span: Span, reading: Reading) -> str:
    if _BREAKS_INLINE & {*span.text, *span.spoken}:
        return span.text
    return f"{{{span.text}|{_said(span, reading) or '=' + span.spoken}}}"


def _element(span: Span, reading: Reading) -> str:
    said = _said(span, reading)
    name, attribute = ("phoneme", "ph") if said else ("sub", "alias")
    value = html.escape(said or span.spoken)
    return f'<{name} {attribute}="{value}">{span.text}</{name}>'
