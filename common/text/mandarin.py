"""Mandarin readings: characters to pinyin by words, with named layers on top.

Layers, later ones win: the dictionary (its phrases may not cut a word in two), our own
phrases, characters by their context, surnames before titles, erhua; sandhi comes last
and leaves the citation readings alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from common.text import sandhi

DATA = Path(__file__).parent / "data"
MAX_PHRASE = 8
"""Longest phrase looked up, in characters."""

CONTEXT = 16
"""How far a context looks back, in characters; longer than any pattern."""

_CITATION = {"一": "yi1", "不": "bu4"}
_DECIDED = frozenset(("user", "word.own"))
Fixed = Mapping[int, tuple[str, ...]]
"""Readings that a user fixed: place in the phrase, syllables of what stands there."""


_POINTS = ("南", "方", "部", "向", "两")
"""After 东西 these make it east and west."""


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


def rows(name: str) -> Iterator[list[str]]:
    """The fields of a data file's lines, comments left out."""
    for line in (DATA / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


@dataclass(frozen=True)
class Context:
    """A reading of a character in a context.

    Attributes:
        before: What ends in front of it, ``None`` for anything.
        after: What follows it, ``None`` for anything.
        reading: The reading.
        overrides: Whether it also wins over the dictionary's phrases.
    """

    before: re.Pattern[str] | None
    after: re.Pattern[str] | None
    reading: str
    overrides: bool

    def fits(self, phrase: str, place: int) -> bool:
        """Whether the character at a place stands in this context."""
        if self.after and not self.after.match(phrase, place + 1):
            return False
        return not self.before or bool(
            self.before.search(phrase, max(0, place - CONTEXT), place)
        )


class Dictionary:
    """Readings of phrases, characters and contexts, loaded once."""

    def __init__(self) -> None:
        """Load the packed dictionary and our own data."""
        self._phrases: dict[str, str] = {}
        for line in (DATA / "phrases.txt").read_text("utf-8").splitlines():
            word, _, readings = line.partition(" ")
            self._phrases[word] = readings
        self._single: dict[str, str] = {}
        for line in (DATA / "characters.txt").read_text("utf-8").splitlines():
            reading, _, characters = line.partition(" ")
            self._single.update(dict.fromkeys(characters, reading))
        self._own: dict[str, tuple[str, ...]] = {}
        self._characters: dict[str, str] = {}
        self.contexts: dict[str, list[Context]] = {}
        self.surnames = dict(rows("surnames.tsv"))
        for word, readings in rows("mandarin.tsv"):
            if len(word) == 1:
                self._characters[word] = readings
            else:
                self._own[word] = tuple(readings.split())
        for character, before, after, reading, *mark in rows("polyphones.tsv"):
            self.contexts.setdefault(character, []).append(
                Context(
                    re.compile(f"(?:{before})$") if before else None,
                    re.compile(after) if after else None,
                    reading,
                    mark == ["!"],
                )
            )
        names = "".join(self.surnames)
        self.surname = re.compile(
            rf"(?<![老小大])([{names}])(?=[一-龥]{{0,2}}?"
            r"(?:先生|女士|小姐|太太|老师|医生|大夫|师傅|经理|主任|阿姨|叔叔|奶奶|爷爷|同学|"
            r"教授|律师|警官|夫人|院长|校长|店长|总(?:$|[您请的好]))|某)"
        )

    def phrase(self, word: str) -> tuple[tuple[str, ...], str] | None:
        """Readings of a phrase and the layer they come from."""
        own = self._own.get(word)
        if own is not None:
            return own, "word.own"
        found = self._phrases.get(word)
        if found is None:
            return None
        readings = found.split()
        if len(word) > 2:
            self._lighten(word, readings)
        return tuple(readings), "word.dictionary"

    def _lighten(self, word: str, readings: list[str]) -> None:
        """Give light syllables of own words back their tone inside longer phrases."""
        for place in range(len(word) - 1):
            own = self._own.get(word[place : place + 2])
            if (
                own is None
                or own[1][-1] != "5"
                or word[place + 2 : place + 3] in _POINTS
            ):
                continue
            if own[1][:-1] == readings[place + 1][:-1] and own[0] == readings[place]:
                readings[place + 1] = own[1]

    def character(self, character: str) -> str | None:
        """Reading of a character where no context decides."""
        own = self._characters.get(character)
        return own if own is not None else self._single.get(character)


@lru_cache(maxsize=1)
def dictionary() -> Dictionary:
    """The one dictionary of this process."""
    return Dictionary()


@lru_cache(maxsize=16384)
def knows(character: str) -> bool:
    """Whether a character can be read."""
    return dictionary().character(character) is not None


_GREETING = frozenset(("您好", "你好"))
_GREETS_ONLY_SELF = tuple("给为祝让带送令使")


@lru_cache(maxsize=8192)
def words_of(phrase: str) -> tuple[str, ...]:
    """Word groups of a phrase."""
    import rjieba

    words: list[str] = list(rjieba.cut(phrase, False))
    for index in range(len(words) - 1, 0, -1):
        # 给您|好品质 is no greeting.
        if words[index] in _GREETING and words[index - 1].endswith(_GREETS_ONLY_SELF):
            words[index : index + 1] = list(words[index])
    return tuple(words)


@lru_cache(maxsize=8192)
def is_word(word: str) -> bool:
    """Whether this is a word of the segmenter's."""
    import rjieba

    return bool(rjieba.has_word(word))


def _by_phrases(phrase: str, edges: set[int]) -> tuple[list[str | None], list[str]]:
    """Readings by the longest phrases that do not cut a word in two."""
    book = dictionary()
    readings: list[str | None] = [None] * len(phrase)
    rules = ["word.character"] * len(phrase)
    place = 0
    while place < len(phrase):
        for end in range(min(len(phrase), place + MAX_PHRASE), place + 1, -1):
            aligned = place in edges and end in edges
            if not aligned and any(edge in edges for edge in range(place + 1, end)):
                continue
            found = book.phrase(phrase[place:end])
            if found is not None:
                readings[place:end] = found[0]
                rules[place:end] = [found[1]] * (end - place)
                place = end
                break
        else:
            readings[place] = book.character(phrase[place])
            place += 1
    return readings, rules


def _by_context(phrase: str, readings: list[str | None], rules: list[str]) -> None:
    book = dictionary()
    for place, character in enumerate(phrase):
        contexts = book.contexts.get(character)
        if contexts is None:
            continue
        single = rules[place] == "word.character"
        for context in contexts:
            if (single or context.overrides) and context.fits(phrase, place):
                readings[place] = context.reading
                rules[place] = "word.context"
                break
    for match in book.surname.finditer(phrase):
        readings[match.start()] = book.surnames[match[1]]
        rules[match.start()] = "word.surname"


_ROUNDED = re.compile("[aeiouvê][^r]*[0-9]$")
"""What erhua may join: a syllable with a vowel and no erhua yet."""
_NOT_ERHUA_AFTER = frozenset("童子女歌科孙媳")
_NOT_ERHUA_BEFORE = frozenset("少女婴幼育孤胎健男托患宠生小亲")


def _is_erhua(phrase: str, place: int) -> bool:
    return (
        phrase[place] == "儿"
        and place > 0
        and phrase[place + 1 : place + 2] not in _NOT_ERHUA_AFTER
        and phrase[place - 1] not in _NOT_ERHUA_BEFORE
    )


def pronounce(phrase: str, fixed: Fixed | None = None) -> list[Syllable]:
    """Read a phrase of Chinese characters.

    Args:
        phrase: Characters only.
        fixed: Readings that a user fixed; they win and are spared from sandhi.

    Returns:
        Its syllables; characters that :func:`knows` does not know are left out.
    """
    words = words_of(phrase)
    edges = {0}
    place = 0
    for word in words:
        place += len(word)
        edges.add(place)
    readings, rules = _by_phrases(phrase, edges)
    _by_context(phrase, readings, rules)
    for start, syllables in (fixed or {}).items():
        for offset, reading in enumerate(syllables):
            readings[start + offset] = reading
            rules[start + offset] = "user"
    spoken: list[Syllable] = []
    for place, read in enumerate(readings):
        if read is None:
            continue
        if rules[place] != "user" and spoken and _is_erhua(phrase, place):
            last = spoken[-1]
            if (
                last.end == place
                and last.rule != "user"
                and _ROUNDED.search(last.citation)
            ):
                last.end = place + 1
                last.citation = f"{last.citation[:-1]}r{last.citation[-1]}"
                last.rule = "word.erhua"
                continue
        if rules[place] not in _DECIDED and phrase[place] in _CITATION:
            read = _CITATION[phrase[place]]
        spoken.append(
            Syllable(place, place + 1, read, read, place in edges, rules[place])
        )
    if spoken:
        spoken[0].starts_word = True
        _change_tones(phrase, spoken)
    return spoken


def _change_tones(phrase: str, spoken: list[Syllable]) -> None:
    places = [syllable.start for syllable in spoken]
    surface = [syllable.citation for syllable in spoken]
    starts = [syllable.starts_word for syllable in spoken]
    sandhi.change_yi_bu(phrase, places, surface, starts)
    edges = [index for index, begins in enumerate(starts) if begins] + [len(spoken)]
    words = list(itertools.pairwise(edges))
    sandhi.change_third(phrase, places, surface, words, is_word)
    for syllable, reading in zip(spoken, surface, strict=True):
        if syllable.rule != "user":
            syllable.surface = reading
