"""From tokens to the reading: pronunciation, spans, the spoken stream, symbols.

Rules of this module: a span never loses a character; a run of Chinese is read as one
phrase even where rules made parts of it, so that 一 and third tones meet their
neighbours; two pauses never stand together and none opens a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import cast

from common.text import english
from common.text.mandarin import Fixed, Syllable
from common.text.receipt import UNREAD_RULE, Language, Reading, Span, Unit, Unread
from common.text.scan import HAN, HAN_RULE, Token
from common.text.styles import PLAIN, Style
from common.text.symbols import BREAK
from common.text.voicing import symbols_of

Pronounce = Callable[[str, "Fixed | None"], "list[Syllable]"]

_PART = re.compile(f"[{HAN}]+|[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*")
_FINAL = frozenset(".!?…")
_STRENGTH = (
    *("user", "word.surname", "word.erhua", "word.context"),
    *("word.own", "word.dictionary", "word.character"),
)


@dataclass(frozen=True)
class Voice:
    """How one dialect reads Chinese.

    Attributes:
        pronounce: Reads a phrase.
        knows: Whether a character can be read at all.
    """

    pronounce: Pronounce
    knows: Callable[[str], bool]


def part_unread(
    tokens: Sequence[Token], voices: Mapping[Language, Voice], dialect: Language
) -> list[Token]:
    """Cut characters that the dialect cannot read out of their tokens.

    Args:
        tokens: All tokens.
        voices: How each dialect reads.
        dialect: The text's dialect.

    Returns:
        Tokens in which Chinese is readable or ``unread``.
    """
    parted: list[Token] = []
    for token in tokens:
        knows = voices[cast("Language", token.language or dialect)].knows
        if token.rule != HAN_RULE or all(map(knows, token.spoken)):
            parted.append(token)
        elif len(token.spoken) != token.end - token.start:
            parted.append(token.silenced(UNREAD_RULE))
        else:
            start = token.start
            for readable, run in groupby(token.spoken, knows):
                spoken = "".join(run)
                end = start + len(spoken)
                part = replace(token, start=start, end=end, spoken=spoken)
                parted.append(part if readable else part.silenced(UNREAD_RULE))
                start = end
    return parted


def join_silent(tokens: Sequence[Token]) -> list[Token]:
    """Join neighbours that are silent or unread by the same rule.

    Args:
        tokens: All tokens.

    Returns:
        Fewer tokens that cover the same input.
    """
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        hushed = token.rule.startswith("silent.") or token.rule == UNREAD_RULE
        heard = token.pause or (last and last.pause)
        if last and hushed and not heard and last.rule == token.rule:
            joined[-1] = replace(last, end=token.end)
            continue
        joined.append(token)
    return joined


def settle_pauses(tokens: list[Token]) -> list[Token]:
    """Silence pauses that open the text, follow another, or end it softly.

    Args:
        tokens: All tokens.

    Returns:
        Tokens in which every pause left is heard.
    """
    settled: list[Token] = []
    heard, last = False, -1
    for token in tokens:
        if token.pause and token.pause != BREAK:
            if not heard or last >= 0:
                token = token.silenced("silent.punctuation")
            else:
                last = len(settled)
        elif token.spoken or token.pause:
            heard, last = True, -1
        settled.append(token)
    if last >= 0 and not (settled[last].spoken and settled[last].pause in _FINAL):
        settled[last] = settled[last].silenced("silent.punctuation")
    return settled


@dataclass
class _Place:
    """Where a syllable belongs: a token and an offset in its spoken form."""

    token: int
    offset: int
    rule: str
    starts: bool


@dataclass
class Builder:
    """Collects syllables, units and spans of one reading.

    Attributes:
        dialect: The reading's dialect.
        tokens: Cover the input in order.
        voices: How each dialect reads Chinese.
        styles: Styles that tokens point to.
    """

    dialect: Language
    tokens: Sequence[Token]
    voices: Mapping[Language, Voice]
    styles: Sequence[Style]
    citation: list[str] = field(default_factory=list)
    surface: list[str] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    places: list[_Place] = field(default_factory=list)
    _phrase: list[tuple[str, int, int]] = field(default_factory=list)
    _fixed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _language: Language = "zh"

    def say(
        self, place: _Place, citation: str, surface: str, language: Language
    ) -> None:
        """Add a syllable."""
        style = self.styles[self.tokens[place.token].style]
        self.citation.append(citation)
        self.surface.append(surface)
        self.places.append(place)
        edits = (style.speed, style.pitch, style.volume)
        self.units.append(Unit(surface, language, False, place.starts, 0, *edits))

    def run(self) -> None:
        """Read all tokens."""
        for index, token in enumerate(self.tokens):
            language = cast("Language", token.language or self.dialect)
            if language != self._language:
                self._flush()
                self._language = language
            if token.pause:
                self._flush()
                self._pause(token)
            elif token.readings:
                self._user(token, index)
            elif token.spoken:
                self._words(token, index)
        self._flush()

    def _pause(self, token: Token) -> None:
        style = self.styles[token.style]
        edits = (style.speed, style.pitch, style.volume)
        self.units.append(Unit(token.pause, "zh", True, False, token.ms, *edits))

    def _words(self, token: Token, index: int) -> None:
        for part in _PART.finditer(token.spoken):
            if part[0][0] < "\u0300":
                self._flush()
                self._latin(part[0], index, part.start())
            else:
                self._phrase.extend(
                    (c, index, part.start() + i) for i, c in enumerate(part[0])
                )

    def _user(self, token: Token, index: int) -> None:
        han = re.fullmatch(f"[{HAN}]+", token.spoken)
        if han and len(token.readings) == len(token.spoken):
            self._fixed[len(self._phrase)] = token.readings
            self._phrase.extend((c, index, i) for i, c in enumerate(token.spoken))
            return
        self._flush()
        for number, reading in enumerate(token.readings):
            language: Language = "en" if reading[0].isupper() else self._language
            place = _Place(index, 0, token.rule, number == 0)
            self.say(place, reading, reading, language)

    def _latin(self, word: str, token: int, offset: int) -> None:
        syllables, rule = english.pronounce(word)
        for number, syllable in enumerate(syllables):
            self.say(_Place(token, offset, rule, number == 0), syllable, syllable, "en")

    def _flush(self) -> None:
        if not self._phrase:
            return
        text = "".join(character for character, _, _ in self._phrase)
        pronounce = self.voices[self._language].pronounce
        syllables = pronounce(text, self._fixed or None)
        for syllable in syllables:
            _, token, offset = self._phrase[syllable.start]
            place = _Place(token, offset, syllable.rule, syllable.starts_word)
            self.say(place, syllable.citation, syllable.surface, self._language)
        self._phrase.clear()
        self._fixed.clear()


def build(
    text: str,
    dialect: Language,
    tokens: list[Token],
    voices: Mapping[Language, Voice],
    styles: Sequence[Style] = (PLAIN,),
) -> Reading:
    """Pronounce tokens and assemble the reading.

    Args:
        text: The input.
        dialect: ``zh``, ``gd`` or ``sc``.
        tokens: Cover the input in order.
        voices: How each dialect reads Chinese.
        styles: Styles that tokens point to.

    Returns:
        The reading.
    """
    tokens = join_silent(settle_pauses(part_unread(tokens, voices, dialect)))
    work = Builder(dialect, tokens, voices, styles)
    work.run()
    spans = tuple(_spans(text, work))
    return Reading(
        text=text,
        dialect=dialect,
        spoken=_spoken(spans),
        syllables=tuple(work.citation),
        surface=tuple(work.surface),
        spans=spans,
        unread=tuple(
            Unread(span.start, span.end, span.text)
            for span in spans
            if span.rule == UNREAD_RULE
        ),
        units=tuple(work.units),
        symbols=symbols_of(work.units),
    )


def _spans(text: str, work: Builder) -> list[Span]:
    """Spans of all tokens; Chinese is cut into its words."""
    spans: list[Span] = []
    by_token: dict[int, list[_Place]] = {}
    for place in work.places:
        by_token.setdefault(place.token, []).append(place)
    first = 0
    for index, token in enumerate(work.tokens):
        places = by_token.get(index, [])
        if token.rule == HAN_RULE and len(token.spoken) == token.end - token.start:
            made = _word_spans(text, token, places, first)
        else:
            rule, spoken = token.rule, token.spoken
            if rule == HAN_RULE:
                rules = [place.rule for place in places]
                rule = min(rules, key=_STRENGTH.index) if rules else "word.erhua"
            body = text[token.start : token.end]
            made = [
                Span(token.start, token.end, body, spoken, rule, first, len(places))
            ]
        spans.extend(made)
        first += len(places)
    return spans


def _word_spans(
    text: str, token: Token, places: list[_Place], first: int
) -> list[Span]:
    """Cut a token of Chinese at its words."""
    cuts = {place.offset for place in places if place.starts}
    edges = sorted({0, token.end - token.start, *cuts})
    spans: list[Span] = []
    used = 0
    for start, end in pairwise(edges):
        stop = used
        while stop < len(places) and places[stop].offset < end:
            stop += 1
        rules = [place.rule for place in places[used:stop]]
        spans.append(
            Span(
                token.start + start,
                token.start + end,
                text[token.start + start : token.start + end],
                token.spoken[start:end],
                min(rules, key=_STRENGTH.index) if rules else "word.erhua",
                first + used,
                stop - used,
            )
        )
        used = stop
    return spans


def _spoken(spans: Sequence[Span]) -> str:
    """Join what is spoken; Latin words that touch are parted by a space."""
    words: list[str] = []
    for span in spans:
        if not span.spoken:
            continue
        if words and _is_latin(words[-1][-1]) and _is_latin(span.spoken[0]):
            words.append(" ")
        words.append(span.spoken)
    return "".join(words)


def _is_latin(character: str) -> bool:
    return character < "\u0300" and character.isalpha()
