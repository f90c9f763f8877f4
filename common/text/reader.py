"""From tokens to the reading: pronunciation, spans, the spoken stream, symbols.

Rules of this module: a span never loses a character; a run of Chinese is read as one
phrase even where rules made parts of it, so that 一 and third tones meet their
neighbours; two pauses never stand together and none opens a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.text import english, mandarin
from common.text.receipt import UNREAD_RULE, Language, Reading, Span, Unit, Unread
from common.text.scan import HAN, HAN_RULE, Token
from common.text.voicing import symbols_of

_PART = re.compile(f"[{HAN}]+|[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)?")
_FINAL = frozenset(".!?…")


@dataclass
class _Word:
    """Characters to be pronounced together with where they came from."""

    text: str
    token: int


@dataclass
class Builder:
    """Collects syllables, units and spans of one reading."""

    dialect: str
    tokens: Sequence[Token]
    citation: list[str] = field(default_factory=list)
    surface: list[str] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)
    cuts: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    unread: dict[int, list[int]] = field(default_factory=dict)

    def say(
        self, value: str, surface: str, language: Language, starts: bool, token: int
    ) -> None:
        """Add a syllable that a token owns."""
        self.citation.append(value)
        self.surface.append(surface)
        self.owner.append(token)
        self.units.append(Unit(surface, language, False, starts))


def settle_pauses(tokens: list[Token]) -> list[Token]:
    """Silence pauses that open the text, follow another, or end it softly.

    Args:
        tokens: All tokens.

    Returns:
        Tokens in which every pause left is heard.
    """
    settled: list[Token] = []
    heard = False
    last_pause = -1
    for token in tokens:
        if token.pause:
            if not heard:
                token = token.silenced("silent.punctuation")
            elif last_pause >= 0:
                token = token.silenced("silent.punctuation")
            else:
                last_pause = len(settled)
        elif token.spoken:
            heard, last_pause = True, -1
        settled.append(token)
    if last_pause >= 0 and settled[last_pause].pause not in _FINAL:
        settled[last_pause] = settled[last_pause].silenced("silent.punctuation")
    return settled


def build(text: str, dialect: str, tokens: list[Token]) -> Reading:
    """Pronounce tokens and assemble the reading.

    Args:
        text: The input.
        dialect: ``zh``, ``gd`` or ``sc``.
        tokens: Cover the input in order.

    Returns:
        The reading.
    """
    tokens = settle_pauses(tokens)
    work = Builder(dialect, tokens)
    phrase: list[tuple[str, int, int]] = []
    for index, token in enumerate(tokens):
        if token.pause:
            _flush(work, phrase)
            work.units.append(Unit(token.pause, "zh", True))
        elif token.spoken:
            for part in _PART.finditer(token.spoken):
                if part[0][0].isascii() or part[0][0] < "\u0300":
                    _flush(work, phrase)
                    _latin(work, part[0], index)
                else:
                    phrase.extend(
                        (c, index, part.start() + i) for i, c in enumerate(part[0])
                    )
    _flush(work, phrase)
    spans, unread = _spans(text, work)
    return Reading(
        text=text,
        dialect=dialect,
        spoken=_spoken(tokens),
        syllables=tuple(work.citation),
        surface=tuple(work.surface),
        spans=spans,
        unread=unread,
        units=tuple(work.units),
        symbols=symbols_of(work.units),
    )


def _latin(work: Builder, word: str, token: int) -> None:
    syllables, _rule = english.pronounce(word)
    for number, syllable in enumerate(syllables):
        work.say(syllable, syllable, "en", number == 0, token)


def _flush(work: Builder, phrase: list[tuple[str, int, int]]) -> None:
    if not phrase:
        return
    text = "".join(character for character, _, _ in phrase)
    syllables, unread = mandarin.pronounce(text)
    for syllable in syllables:
        _, token, offset = phrase[syllable.start]
        work.say(syllable.citation, syllable.surface, "zh", syllable.starts_word, token)
        if work.tokens[token].rule == HAN_RULE:
            _, last, last_offset = phrase[syllable.end - 1]
            if syllable.starts_word:
                work.cuts.setdefault(token, []).append((offset, syllable.rule))
    for index in unread:
        _, token, offset = phrase[index]
        work.unread.setdefault(token, []).append(offset)
    phrase.clear()


def _spans(text: str, work: Builder) -> tuple[tuple[Span, ...], tuple[Unread, ...]]:
    spans: list[Span] = []
    unread: list[Unread] = []
    counts = [0] * len(work.tokens)
    for token in work.owner:
        counts[token] += 1
    first = 0
    for index, token in enumerate(work.tokens):
        start, end = token.start, token.end
        gaps = work.unread.get(index, [])
        spoken, rule = token.spoken, token.rule
        if gaps and rule == HAN_RULE:
            for offset in gaps:
                unread.append(
                    Unread(start + offset, start + offset + 1, text[start + offset])
                )
            if len(gaps) == end - start:
                rule, spoken = UNREAD_RULE, ""
        if rule == UNREAD_RULE and not gaps:
            unread.append(Unread(start, end, text[start:end]))
        spans.append(
            Span(start, end, text[start:end], spoken, rule, first, counts[index])
        )
        first += counts[index]
    return tuple(spans), tuple(unread)


def _spoken(tokens: Sequence[Token]) -> str:
    words: list[str] = []
    for token in tokens:
        if not token.spoken:
            continue
        if (
            words
            and words[-1][-1].isascii()
            and token.spoken[0].isascii()
            and token.spoken[0].isalpha()
            and words[-1][-1].isalpha()
        ):
            words.append(" ")
        words.append(token.spoken)
    return "".join(words)
