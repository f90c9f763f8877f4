"""The symbol table: what a voice is asked to say, frozen.

A *symbol* is one segment (consonant, glide, vowel, coda), a word boundary, a
punctuation mark or an explicit break. Tone is not part of the segment: it travels
beside it as a contour of three points, so a dialect with other tones needs new
numbers and no new weights.

Rules of this module:

* The table only grows at its end, and every growth raises ``TABLE_VERSION``. Weights
  and phrase keys stand on these numbers; ``tests/contract`` holds them as golden bytes.
* ``TABLE_SIZE`` rows are reserved in every model, so growth needs no new shapes.
* Everything in a :class:`Symbol` is an integer, so that its canonical form is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

TABLE_VERSION = 1
TABLE_SIZE = 128
"""Rows of the embedding in every model; ids at and above ``len(SYMBOLS)`` are free."""

PAD, BOS, EOS, WORD, BREAK = "<pad>", "<bos>", "<eos>", "<word>", "<break>"

CONTROL = (PAD, BOS, EOS, WORD, BREAK)
PUNCTUATION = (",", "、", ".", "!", "?", ";", ":", "…", "—")
ONSETS = (
    *("p", "pʰ", "m", "f", "v", "t", "tʰ", "n", "l", "k", "kʰ", "ŋ", "x", "h"),
    *("tɕ", "tɕʰ", "ɕ", "ɲ", "ʈʂ", "ʈʂʰ", "ʂ", "ɻ", "ts", "tsʰ", "s", "z"),
)
GLIDES = ("j", "w", "ɥ")
VOWELS = (
    *("a", "aː", "ɐ", "e", "ɛ", "ɤ", "ə", "i", "ɨ"),
    *("o", "ɔ", "œ", "ɵ", "ʊ", "u", "y", "ɚ"),
)
CODAS = ("-i", "-u", "-y", "-n", "-ŋ", "-m", "-p", "-t", "-k", "-ɻ")
SYLLABIC = ("m̩", "n̩", "ŋ̩")
ARPABET = (
    *("AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY"),
    *("F", "G", "HH", "IH", "IY", "JH", "K", "L", "M", "N", "NG", "OW", "OY", "P"),
    *("R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH"),
)

SYMBOLS: tuple[str, ...] = (
    CONTROL + PUNCTUATION + ONSETS + GLIDES + VOWELS + CODAS + SYLLABIC + ARPABET
)
IDS: dict[str, int] = {name: number for number, name in enumerate(SYMBOLS)}

DIALECTS = ("zh", "gd", "sc")
"""Dialect inputs by index: Mandarin, Hong Kong Cantonese, Chengdu."""
SPEAKER_SLOTS = 16
"""Speaker inputs a model has room for; a pack maps voice names onto them."""

VOWEL_NAMES = frozenset((*VOWELS, *SYLLABIC))
PAUSES = frozenset((*PUNCTUATION, BREAK, BOS, EOS))

STRESS_NONE, STRESS_SECOND, STRESS_FULL = 0, 1, 2

SPEED_ONE = 1000
"""Speed is in thousandths; 1000 is the voice's own."""


class Symbol(NamedTuple):
    """One symbol with everything that shapes its sound.

    Attributes:
        id: Row in :data:`SYMBOLS`.
        start: Pitch at the start of the syllable, tenths on the 1-5 scale (10-55);
            0 where the symbol carries no tone.
        middle: The same at its middle.
        end: The same at its end.
        stress: 0 neutral tone or unstressed, 1 secondary, 2 full tone or primary.
        ms: Length of an explicit break in milliseconds, else 0.
        speed: Speed of this symbol in thousandths.
        pitch: Shift of this symbol in cents.
        volume: Gain of this symbol in hundredths of a decibel.
    """

    id: int
    start: int = 0
    middle: int = 0
    end: int = 0
    stress: int = STRESS_NONE
    ms: int = 0
    speed: int = SPEED_ONE
    pitch: int = 0
    volume: int = 0

    @property
    def name(self) -> str:
        """The symbol's name in the table."""
        return SYMBOLS[self.id]

    @property
    def has_tone(self) -> bool:
        """Whether a contour is given."""
        return self.start > 0


Contour = tuple[int, int, int]
"""Start, middle and end on the 1-5 scale, in tenths."""

TONE_INPUTS = 5
"""Numbers a model receives per symbol: start, middle, end, toned, stress."""


def tone_inputs(symbol: Symbol) -> tuple[float, float, float, float, float]:
    """Turn a symbol's contour and stress into model inputs.

    Args:
        symbol: Any symbol.

    Returns:
        Start, middle and end as ``(level - 3) / 2`` (so level 1 is -1 and level 5 is
        +1), 1.0 where a contour is given, and stress in 0, 0.5, 1.
    """
    stress = symbol.stress / 2
    if not symbol.has_tone:
        return (0.0, 0.0, 0.0, 0.0, stress)
    return (
        (symbol.start - 30) / 20,
        (symbol.middle - 30) / 20,
        (symbol.end - 30) / 20,
        1.0,
        stress,
    )


def toned(names: Sequence[str], contour: Contour, stress: int) -> list[Symbol]:
    """Give every segment of a syllable the syllable's contour.

    Args:
        names: Segment names in order.
        contour: The syllable's contour in tenths.
        stress: The syllable's stress.

    Returns:
        One symbol per name.

    Raises:
        KeyError: A name is not in the table.
    """
    return [Symbol(IDS[name], *contour, stress) for name in names]


def framed(body: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Put the start and end marks around a sentence's symbols.

    Args:
        body: Symbols without marks.

    Returns:
        The sentence a voice expects.
    """
    return (Symbol(IDS[BOS]), *body, Symbol(IDS[EOS]))
