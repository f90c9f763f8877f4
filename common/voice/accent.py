"""How a pack's weights are asked for a dialect: symbols in, symbols out.

The symbols of a reading name what is to be said, the same everywhere; here the table of
a dialect pack turns them into what its weights are given. Their number and order stay,
so places in the one are places in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from common.protocol.contours import Dialect, Tone
from common.text.contours import tone_of
from common.text.symbols import (
    GLIDES,
    IDS,
    ONSETS,
    PAUSES,
    SPEED_ONE,
    VOWEL_NAMES,
    WORD,
    Symbol,
)

_CHECKED = frozenset(("-p", "-t", "-k"))
_STARTS = frozenset(ONSETS)
_MAY_START = frozenset(GLIDES) | VOWEL_NAMES


class Syllable(NamedTuple):
    """A syllable among symbols.

    Attributes:
        begin: Its first symbol.
        end: One past its last symbol.
        tone: Its tone; 0 for one of another language.
    """

    begin: int
    end: int
    tone: int


def phrases_of(symbols: Sequence[Symbol], dialect: str) -> list[list[Syllable]]:
    """Find the syllables of each phrase.

    Args:
        symbols: An utterance, with or without marks.
        dialect: Whose tones its contours name.

    Returns:
        For each stretch between pauses its syllables in order. English counts as one
        syllable a word, without tone.
    """
    phrases = []
    places = enumerate(symbols)
    for is_pause, run in groupby(places, lambda place: place[1].name in PAUSES):
        if not is_pause:
            phrases.append(_syllables(list(run), dialect))
    return phrases


def _syllables(phrase: Sequence[tuple[int, Symbol]], dialect: str) -> list[Syllable]:
    """Cut a phrase at word symbols, consonants that begin, and vowels that follow."""
    found: list[Syllable] = []
    has_vowel = False
    last = (0, 0, 0)
    for at, symbol in phrase:
        if symbol.name == WORD:
            has_vowel = True
            last = (-1, 0, 0)
            continue
        shape = (symbol.start, symbol.middle, symbol.end)
        begins = (
            not found
            or shape != last
            or (symbol.has_tone and symbol.name in _STARTS)
            or (symbol.has_tone and has_vowel and symbol.name in _MAY_START)
        )
        if begins:
            found.append(Syllable(at, at + 1, tone_of(dialect, shape)))
            has_vowel = False
        else:
            found[-1] = found[-1]._replace(end=at + 1)
        has_vowel = has_vowel or symbol.name in VOWEL_NAMES
        last = shape
    return found


class Accent:
    """One dialect as one pack speaks it."""

    def __init__(self, name: str, table: Dialect) -> None:
        """Take a table up.

        Args:
            name: ``zh``, ``gd`` or ``sc``.
            table: How it is spoken.
        """
        self._name = name
        self._tones = {int(tone): shapes for tone, shapes in table.tones.items()}
        self._segments = {IDS[a]: IDS[b] for a, b in table.segments.items()}
        self._checked = table.checked

    def spoken(self, symbols: Sequence[Symbol]) -> tuple[Symbol, ...]:
        """Turn a reading's symbols into what the weights are given.

        Args:
            symbols: A whole utterance, or the rest of one from a pause on.

        Returns:
            As many symbols.
        """
        said = list(symbols)
        for phrase in phrases_of(symbols, self._name):
            before = 0
            for number, syllable in enumerate(phrase):
                is_last = number == len(phrase) - 1
                tone = self._tones.get(syllable.tone)
                if tone is not None:
                    levels = _levels(tone, before, number == 0, is_last)
                    self._say(said, syllable, levels)
                before = syllable.tone
        return tuple(said)

    def _say(
        self, said: list[Symbol], syllable: Syllable, levels: Sequence[int]
    ) -> None:
        """Write a syllable as it is spoken."""
        start, middle, end = levels
        is_checked = said[syllable.end - 1].name in _CHECKED
        pace = self._checked if is_checked else SPEED_ONE
        for at in range(syllable.begin, syllable.end):
            symbol = said[at]
            said[at] = symbol._replace(
                id=self._segments.get(symbol.id, symbol.id),
                start=start,
                middle=middle,
                end=end,
                speed=symbol.speed * pace // SPEED_ONE,
            )


def _levels(tone: Tone, before: int, is_first: bool, is_last: bool) -> list[int]:
    """The contour of a tone in its place."""
    after = tone.after.get(str(before)) if before else None
    if after is not None:
        return list(after)
    if is_last and tone.last is not None:
        return tone.last
    if is_first and tone.first is not None:
        return tone.first
    return tone.anywhere
