"""Pieces of a marked-up text: what is text, what is markup, what a user decided.

A piece knows where it stood in the input, so that the reading's spans cover the input
and not some cleaned copy of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from common.text import english, segment
from common.text.contours import contour

Kind = Literal["text", "silent", "break", "fixed", "unread"]

LETTERS = "letters"
"""Instead of a reading: spell the word letter by letter."""
MAX_BREAK_MS = 10_000


@dataclass(frozen=True)
class Piece:
    """A stretch of the input.

    Attributes:
        kind: What it is.
        start: First character of the input.
        end: One past the last.
        text: Its characters after entities are resolved; for ``fixed``, the words said.
        readings: Syllables for ``fixed``; empty when ``text`` is to be read as words.
        rule: Rule that its span shows.
        ms: Length of a ``break``.
        style: Index into the styles.
        language: Dialect, or ``en``, that markup asked for; empty for the text's own.
        say_as: Kind of content that markup named.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    readings: tuple[str, ...] = ()
    rule: str = ""
    ms: int = 0
    style: int = 0
    language: str = ""
    say_as: str = ""


def is_syllable(syllable: str, dialect: str) -> bool:
    """Whether a syllable is spelled as the dialect, or English, spells."""
    try:
        if syllable[:1].isupper():
            segment.english(syllable)
        else:
            spell = segment.cantonese if dialect == "gd" else segment.mandarin
            spell(syllable)
            contour(dialect, int(syllable[-1]))
    except (ValueError, KeyError):
        return False
    return True


def parse_reading(
    reading: str, word: str, dialect: str
) -> tuple[str, tuple[str, ...]] | None:
    """Understand what a user wrote as a word's reading.

    Args:
        reading: Syllables parted by spaces (``hang2``, ``hong4``, ``HH.EH1 L.OW0``),
            ``=`` and other words to say, or ``letters``.
        word: The word itself.
        dialect: Dialect of the reading.

    Returns:
        Words to say and syllables (none if the words are to be read), or ``None`` if
        it cannot be understood.
    """
    reading = reading.strip()
    if reading == LETTERS:
        letters = [c for c in word.upper() if c.isascii() and c.isalpha()]
        return (" ".join(letters), english.spell("".join(letters))) if letters else None
    if reading.startswith("="):
        said = reading[1:].strip()
        return (said, ()) if said else None
    syllables = tuple(reading.replace("ü", "v").split())
    if not syllables or not all(is_syllable(s, dialect) for s in syllables):
        return None
    return word, syllables


_INLINE = re.compile(r"\{([^{}|\n]{1,64})\|([^{}|\n]{0,200})\}")


def inline_pieces(text: str, dialect: str) -> list[Piece]:
    """Cut a text at its inline overrides, ``{word|reading}``.

    Args:
        text: The input.
        dialect: Dialect the readings are written for.

    Returns:
        Pieces that cover the text. An override that cannot be understood is unread, so
        that a mistake is noticed instead of spoken.
    """
    pieces: list[Piece] = []
    place = 0
    for match in _INLINE.finditer(text) if "{" in text else ():
        if match.start() > place:
            pieces.append(
                Piece("text", place, match.start(), text[place : match.start()])
            )
        pieces.extend(_override(match, dialect))
        place = match.end()
    if place < len(text):
        pieces.append(Piece("text", place, len(text), text[place:]))
    return pieces


def _override(match: re.Match[str], dialect: str) -> Sequence[Piece]:
    found = parse_reading(match[2], match[1], dialect)
    if found is None:
        return [Piece("unread", match.start(), match.end())]
    said, readings = found
    return [
        Piece("silent", match.start(), match.start(1), rule="silent.markup"),
        Piece("fixed", match.start(1), match.end(1), said, readings, "user.reading"),
        Piece("silent", match.end(1), match.end(), rule="silent.markup"),
    ]
