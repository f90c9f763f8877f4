"""Mandarin readings: characters to pinyin by words, with named layers on top.

Layers, later ones win: the dictionary by phrases that respect word boundaries, the own
phrase list, function words, surnames, neutral tones, erhua; sandhi last.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from common.text import sandhi

_DATA = Path(__file__).parent / "data"
_MARKS = {"\u0304": 1, "\u0301": 2, "\u030c": 3, "\u0300": 4}
MAX_PHRASE = 8
"""Longest dictionary phrase tried, characters."""


@dataclass
class Syllable:
    """One spoken syllable of a Chinese phrase.

    Attributes:
        start: First character in the phrase.
        end: One past its last; erhua syllables have two.
        citation: Reading before sandhi.
        surface: Reading after sandhi.
        starts_word: Whether a word begins here.
        rule: The layer that decided the reading.
    """

    start: int
    end: int
    citation: str
    surface: str
    starts_word: bool
    rule: str


@lru_cache(maxsize=32768)
def numbered(marked: str) -> str:
    """``háng`` as ``hang2``; ü as v, neutral tone 5."""
    tone = 5
    letters: list[str] = []
    for character in unicodedata.normalize("NFD", marked):
        if character in _MARKS:
            tone = _MARKS[character]
        elif character == "\u0308":
            letters[-1] = "v"
        elif character == "\u0302":
            letters[-1] = "ê"
        else:
            letters.append("g" if character == "ɡ" else character)
    return "".join(letters) + str(tone)


class Dictionary:
    """Readings of characters and phrases, loaded once."""

    def __init__(self) -> None:
        """Load the library's data and our own."""
        from pypinyin.constants import PHRASES_DICT, PINYIN_DICT

        self._phrases = PHRASES_DICT
        self._single = PINYIN_DICT
        self.own: dict[str, tuple[str, ...]] = {}
        self.characters: dict[str, str] = {}
        for line in (_DATA / "mandarin.tsv").read_text("utf-8").splitlines():
            if not line or line.startswith("#"):
                continue
            word, readings = line.split("\t")[:2]
            if len(word) == 1:
                self.characters[word] = readings
            else:
                self.own[word] = tuple(readings.split())

    def phrase(self, word: str) -> tuple[tuple[str, ...], str] | None:
        """Readings of a phrase and the layer they come from."""
        own = self.own.get(word)
        if own is not None:
            return own, "lexicon.phrase"
        found = self._phrases.get(word)
        if found is None or len(found) != len(word):
            return None
        return tuple(numbered(options[0]) for options in found), "dictionary.phrase"

    def character(self, character: str) -> str | None:
        """Most common reading of a character."""
        own = self.characters.get(character)
        if own is not None:
            return own
        found = self._single.get(ord(character))
        return numbered(found.split(",")[0]) if found else None


@lru_cache(maxsize=1)
def dictionary() -> Dictionary:
    """The one dictionary of this process."""
    return Dictionary()


@lru_cache(maxsize=4096)
def words_of(phrase: str) -> tuple[str, ...]:
    """Word groups of a phrase."""
    import rjieba

    return tuple(rjieba.cut(phrase))


def _look_up(phrase: str, words: tuple[str, ...]) -> tuple[list[str | None], list[str]]:
    book = dictionary()
    readings: list[str | None] = [None] * len(phrase)
    rules = ["dictionary.character"] * len(phrase)
    edges = {0}
    position = 0
    for word in words:
        position += len(word)
        edges.add(position)
    position = 0
    while position < len(phrase):
        for end in range(min(len(phrase), position + MAX_PHRASE), position + 1, -1):
            crosses = not (position in edges and end in edges)
            if crosses and any(position < edge < end for edge in edges):
                continue
            found = book.phrase(phrase[position:end])
            if found is not None:
                readings[position:end] = found[0]
                rules[position:end] = [found[1]] * (end - position)
                position = end
                break
        else:
            readings[position] = book.character(phrase[position])
            position += 1
    return readings, rules


_PARTICLES = {
    "的": "de5",
    "了": "le5",
    "着": "zhe5",
    "吗": "ma5",
    "呢": "ne5",
    "吧": "ba5",
    "们": "men5",
    "么": "me5",
}


def pronounce(phrase: str) -> tuple[list[Syllable], list[int]]:
    """Read a phrase of Chinese characters.

    Args:
        phrase: Characters only.

    Returns:
        Its syllables, and the indexes of characters nobody could read.
    """
    words = words_of(phrase)
    readings, rules = _look_up(phrase, words)
    starts = [False] * len(phrase)
    position = 0
    for word in words:
        starts[position] = True
        position += len(word)
    unread = [i for i, reading in enumerate(readings) if reading is None]
    syllables: list[Syllable] = []
    for index, reading in enumerate(readings):
        if reading is None:
            continue
        if phrase[index] == "儿" and syllables and _is_erhua(phrase, index, words):
            last = syllables[-1]
            last.end = index + 1
            last.citation = last.citation[:-1] + "r" + last.citation[-1]
            last.rule = "erhua"
            continue
        syllables.append(
            Syllable(index, index + 1, reading, reading, starts[index], rules[index])
        )
    _apply_sandhi(phrase, syllables)
    return syllables, unread


_ERHUA = re.compile(
    r"(?:这|那|哪|会|棍|根|孩|馅|伙|玩|点|店|份|块|花|味|事|空|劲|门|头|样|活|口|边|座|面|盘|罐)$"
)


def _is_erhua(phrase: str, index: int, words: tuple[str, ...]) -> bool:
    if phrase[index + 1 : index + 2] in ("童", "子", "女", "科"):
        return False
    return bool(_ERHUA.search(phrase[:index]))


_CITATION = {"一": "yi1", "不": "bu4"}


def _apply_sandhi(phrase: str, syllables: list[Syllable]) -> None:
    for syllable in syllables:
        fixed = _CITATION.get(phrase[syllable.start])
        if fixed is not None and syllable.citation[:2] == fixed[:2]:
            syllable.citation = fixed
    surface = [s.citation for s in syllables]
    characters = [phrase[s.start] for s in syllables]
    starts = [s.starts_word for s in syllables]
    sandhi.change_yi_bu(characters, surface, starts)
    ranges: list[tuple[int, int]] = []
    for index, begins in enumerate(starts):
        if begins or not ranges:
            ranges.append((index, index + 1))
        else:
            ranges[-1] = (ranges[-1][0], index + 1)
    sandhi.change_third(surface, [ranges])
    for syllable, reading in zip(syllables, surface, strict=True):
        syllable.surface = reading
