"""The sentences of a corpus: seeded, so that a recipe always gives the same ones.

Signage is what the voice will say; strings of random words give wide coverage for
nothing; English and strange syllables carry the symbols that Mandarin lacks. A held
sentence never comes out of here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from common.errors import YaoheError
from common.text import read
from common.text.receipt import Unit
from common.text.symbols import (
    BOS,
    BREAK,
    EOS,
    IDS,
    PAD,
    PAUSES,
    SYMBOLS,
    WORD,
    Symbol,
    framed,
)
from common.text.voicing import symbols_of
from distill.corpus import strange
from distill.corpus.held import is_held
from distill.corpus.signage import Signage
from distill.corpus.words import english_words, mandarin_words
from distill.recipe import Recipe

MAX_SYMBOLS = 180
"""Symbols of one sentence; about 13 seconds, and well below what the teacher takes."""
MAX_DRAWS = 50_000
"""Sentences drawn in search of a rare symbol before the search fails."""
TOLD_FROM = 900_000
"""Number of the first sentence that is told and not spoken."""
UNTAUGHT = frozenset((PAD, BOS, EOS, BREAK))
"""Symbols that no teacher sounds."""

Kind = str
DIALECT_KINDS = {"cantonese": "gd", "chengdu": "sc"}
Drawn = tuple[str, Sequence[Symbol]]


@dataclass(frozen=True)
class Sentence:
    """One sentence for the teacher.

    Attributes:
        id: Its number in the corpus.
        kind: Which generator made it.
        text: What it says, for people.
        symbols: What the teacher says, with start and end marks.
    """

    id: int
    kind: Kind
    text: str
    symbols: tuple[Symbol, ...]

    @property
    def dialect(self) -> str:
        """Whose segments it has."""
        return DIALECT_KINDS.get(self.kind, "zh")


def _joined(bodies: Iterable[Sequence[Symbol]]) -> list[Symbol]:
    """Put phrases together, words parted by the word symbol."""
    body: list[Symbol] = []
    for part in bodies:
        if body and part and not {body[-1].name, part[0].name} & PAUSES:
            body.append(Symbol(IDS[WORD]))
        body += part
    return body


def _read(text: str) -> Sequence[Symbol]:
    """Symbols of a text without marks."""
    return read(text).symbols[1:-1]


class Sentences:
    """Draws sentences of every kind."""

    def __init__(self, seed: int) -> None:
        """Begin.

        Args:
            seed: Decides everything that follows.
        """
        self._random = Random(seed)
        self._signage = Signage(self._random)
        self._words = mandarin_words()
        self._english = english_words()
        self._makers: dict[Kind, Callable[[], Drawn]] = {
            "signage": self._draw_signage,
            "words": self._draw_words,
            "short": self._draw_short,
            "english": self._draw_english,
            "syllables": self._draw_syllables,
            **{k: partial(self._draw_dialect, d) for k, d in DIALECT_KINDS.items()},
        }

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What can be drawn."""
        return tuple(self._makers)

    def draw(self, kind: Kind) -> Drawn:
        """Draw one sentence that the teacher can say and that is not held.

        Args:
            kind: One of :attr:`kinds`.

        Returns:
            Its text and its symbols with marks.
        """
        while True:
            text, body = self._makers[kind]()
            if 0 < len(body) <= MAX_SYMBOLS and not is_held(text):
                return text, framed(body)

    def choose(self, shares: dict[Kind, float]) -> Kind:
        """Choose a kind by its share."""
        return self._random.choices(list(shares), list(shares.values()))[0]

    def _some(self, least: int, most: int) -> str:
        count = self._random.randint(least, most)
        return "".join(self._random.choice(self._words) for _ in range(count))

    def _end(self) -> str:
        return self._random.choices("。！？…", (70, 14, 14, 2))[0]

    def _draw_signage(self) -> Drawn:
        text = self._signage.sentence()
        return text, _read(text)

    def _draw_words(self) -> Drawn:
        count = self._random.randint(2, 9)
        parts = []
        for number in range(count):
            parts.append(self._random.choice(self._words))
            if number < count - 1 and self._random.random() < 0.15:
                parts.append(self._random.choices("，、；：—…", (8, 3, 1, 1, 1, 1))[0])
        text = "".join(parts) + self._end()
        return text, _read(text)

    def _draw_short(self) -> Drawn:
        text = self._some(1, 2) + self._random.choice(("", "。", "！", "？"))
        return text, _read(text)

    def _spoken(self, word: str) -> Sequence[Symbol]:
        """An English word from our own list, whatever the reading's lexicon holds."""
        units = [
            Unit(syllable, "en", starts_word=number == 0)
            for number, syllable in enumerate(self._english[word])
        ]
        return symbols_of(units)[1:-1]

    def _draw_english(self) -> Drawn:
        kind = self._random.random()
        names = list(self._english)
        words = [self._random.choice(names) for _ in range(self._random.randint(3, 7))]
        if kind < 0.25:
            end = self._random.choice(".!?")
            body = _joined([*map(self._spoken, words), [Symbol(IDS[end])]])
            return " ".join(words) + end, body
        if kind < 0.5:
            letters = self._random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=3)
            text = (
                f"{self._some(1, 1)}{''.join(letters)}{self._some(1, 2)}{self._end()}"
            )
            return text, _read(text)
        before, between, after = self._some(1, 1), self._some(1, 2), self._some(1, 1)
        end = self._end()
        comma = self._random.random() < 0.4
        bodies = [_read(before), self._spoken(words[0])]
        if comma:
            bodies.append([Symbol(IDS[","])])
        bodies += [_read(between), self._spoken(words[1]), _read(after + end)]
        text = f"{before} {words[0]}{'，' if comma else ' '}{between} {words[1]} "
        return text + after + end, _joined(bodies)

    def _draw_syllables(self) -> Drawn:
        head = self._some(1, 1) if self._random.random() < 0.3 else ""
        tail = strange.phrase(self._random)
        spelled = "".join(" " if s.name == WORD else s.name for s in tail)
        return f"{head} {spelled}".strip(), _joined([_read(head), tail])

    def _draw_dialect(self, dialect: str) -> Drawn:
        """A sentence in a dialect's segments, under contours the teacher knows."""
        if self._random.random() < 0.5:
            text = self._signage.sentence()
        else:
            text = self._some(2, 6) + self._end()
        symbols = read(text, dialect).symbols[1:-1]
        return text, strange.recast(symbols, self._random)


def coverage(sentences: Iterable[Sentence]) -> Counter[str]:
    """How often each symbol occurs, symbols that never do included.

    Args:
        sentences: A corpus.

    Returns:
        Counts by name, for every symbol that a teacher can say.
    """
    counts = Counter({name: 0 for name in SYMBOLS if name not in UNTAUGHT})
    for sentence in sentences:
        names = (symbol.name for symbol in sentence.symbols)
        counts.update(name for name in names if name not in UNTAUGHT)
    return counts


def generate(recipe: Recipe) -> Iterator[Sentence]:
    """The sentences of a recipe.

    Args:
        recipe: Seed, count, mix and least count of every symbol.

    Yields:
        Sentences, numbered from 0; those that fill gaps of coverage come last.

    Raises:
        YaoheError: ``invalid_request`` where a symbol cannot be brought to its count.
    """
    drawer = Sentences(recipe.seed)
    shares = recipe.corpus.mix.model_dump()
    counts = coverage(())
    number = 0
    for number in range(recipe.corpus.sentences):
        kind = drawer.choose(shares)
        sentence = Sentence(number, kind, *_frozen(drawer.draw(kind)))
        counts.update(coverage((sentence,)))
        yield sentence
    for draw in range(MAX_DRAWS):
        short = {name for name, c in counts.items() if c < recipe.corpus.least}
        if not short:
            return
        kind = drawer.kinds[draw % len(drawer.kinds)]
        text, symbols = _frozen(drawer.draw(kind))
        if short & {symbol.name for symbol in symbols}:
            number += 1
            sentence = Sentence(number, kind, text, symbols)
            counts.update(coverage((sentence,)))
            yield sentence
    names = " ".join(sorted(short))
    raise YaoheError("invalid_request", f"too few sentences with the symbols {names}")


def generate_told(recipe: Recipe) -> Iterator[Sentence]:
    """The sentences of a recipe that the teacher only tells about.

    Args:
        recipe: Seed, count and mix.

    Yields:
        Sentences, numbered from :data:`TOLD_FROM`; others than the spoken ones.
    """
    drawer = Sentences(recipe.seed + 1)
    shares = recipe.corpus.mix.model_dump()
    for number in range(TOLD_FROM, TOLD_FROM + recipe.corpus.told):
        kind = drawer.choose(shares)
        yield Sentence(number, kind, *_frozen(drawer.draw(kind)))


def _frozen(drawn: Drawn) -> tuple[str, tuple[Symbol, ...]]:
    return drawn[0], tuple(drawn[1])
