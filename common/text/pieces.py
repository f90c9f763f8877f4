"""Pieces of a marked-up text: what is text, what is markup, what a user decided.

A piece knows where it stood in the input, so that the reading's spans cover the input
and not some cleaned copy of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from html.entities import html5
from typing import Literal

from common.text import english, segment
from common.text.contours import contour
from common.text.forms import unseen

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


ENTITY = r"&(?:amp;)*(#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
"""A character as web pages spell it, escaped once or again and again."""
_ENTITY = re.compile(ENTITY)
_IN_NUMBER = re.compile(r"\d(?:[.．]\d|[&\d])|[.．]\d")
_INLINE = re.compile(r"\{([^{}|\n]{1,64})\|([^{}|\n]{0,200})\}")


def entity(name: str) -> str | None:
    """The characters that an entity stands for.

    Args:
        name: What stands between ``&`` and ``;``.

    Returns:
        The characters, empty for one that no page shows; None for a name that HTML does
        not know: then it is text.
    """
    return unescape(f"&{name};") if name[0] == "#" else html5.get(f"{name};")


def inline_pieces(text: str, dialect: str) -> list[Piece]:
    """Cut a text at its inline overrides, ``{word|reading}``, and resolve entities.

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
        pieces.extend(_plain(text, place, match.start()))
        pieces.extend(_override(match, dialect))
        place = match.end()
    pieces.extend(_plain(text, place, len(text)))
    return pieces


def entity_piece(text: str, start: int, end: int, said: str) -> Piece:
    """The piece of an entity that stands for ``said``."""
    shows = bool(said.strip()) and next(unseen(f"a{said}a"), None) is None
    if not shows and _IN_NUMBER.match(text[start - 1 : start] + text[end : end + 2]):
        # It would part one price in two.
        return Piece("unread", start, end)
    if shows or said.isspace():
        return Piece("text", start, end, said)
    return Piece("silent", start, end, rule="silent.control")


def _plain(text: str, start: int, end: int) -> Iterator[Piece]:
    """Text without overrides, cut at its entities."""
    place = start
    for match in _ENTITY.finditer(text, start, end) if "&" in text else ():
        said = entity(match[1])
        if said is None:
            continue
        if match.start() > place:
            yield Piece("text", place, match.start(), text[place : match.start()])
        place = match.end()
        yield entity_piece(text, match.start(), place, said)
    if place < end:
        yield Piece("text", place, end, text[place:end])


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
