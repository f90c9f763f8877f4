"""Our symbols in Kokoro's own alphabet.

Kokoro v1.0 was taught Mandarin in an IPA-like spelling whose tone is an arrow after
the vowel; the spelling follows the ``misaki`` package (Apache-2.0), the numbers are
those of the model's vocabulary. Driving the model from our symbols and not from its own
reader is what makes labels and audio agree.

Gaps, and what stands in for them: ``ɵ`` becomes ``ø``; syllabic nasals become plain
ones; erhua ``-ɻ`` becomes a toneless ``ɚ``; any contour becomes the nearest of the four
Mandarin arrows; an explicit break is silence added outside the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.text.contours import contour
from common.text.symbols import (
    BOS,
    BREAK,
    EOS,
    PAD,
    STRESS_FULL,
    STRESS_NONE,
    STRESS_SECOND,
    SYMBOLS,
    VOWEL_NAMES,
    WORD,
    Symbol,
)

VOCABULARY: dict[str, int] = {
    **{";": 1, ":": 2, ",": 3, ".": 4, "!": 5, "?": 6, "—": 9, "…": 10, " ": 16},
    **{"ʣ": 18, "ʥ": 19, "ʦ": 20, "ʨ": 21, "ꭧ": 23, "A": 24, "I": 25, "O": 31},
    **{"W": 39, "Y": 41, "ᵊ": 42, "a": 43, "b": 44, "c": 45, "d": 46, "e": 47},
    **{"f": 48, "h": 50, "i": 51, "j": 52, "k": 53, "l": 54, "m": 55, "n": 56},
    **{"o": 57, "p": 58, "q": 59, "r": 60, "s": 61, "t": 62, "u": 63, "v": 64},
    **{"w": 65, "x": 66, "y": 67, "z": 68, "ɑ": 69, "ɐ": 70, "æ": 72, "ɔ": 76},
    **{"ɕ": 77, "ð": 81, "ʤ": 82, "ə": 83, "ɚ": 85, "ɛ": 86, "ɜ": 87, "ɡ": 92},
    **{"ɥ": 99, "ɨ": 101, "ɪ": 102, "ŋ": 112, "ɲ": 114, "ø": 116, "θ": 119},
    **{"œ": 120, "ɹ": 123, "ɾ": 125, "ɻ": 126, "ʂ": 130, "ʃ": 131, "ʧ": 133},
    **{"ʊ": 135, "ʌ": 138, "ɤ": 140, "ʒ": 147, "ʔ": 148, "ˈ": 156, "ˌ": 157},
    **{"ː": 158, "ʰ": 162, "↓": 169, "→": 171, "↗": 172, "↘": 173, "ᵻ": 177},
}

_ARROWS = {1: "→", 2: "↗", 3: "↓", 4: "↘"}

_SPELLING: dict[str, str] = {
    **{"、": ", ", ",": ", ", ".": ". ", "!": "! ", "?": "? "},
    **{";": "; ", ":": ": ", "…": "… ", "—": "— "},
    **{PAD: "", BOS: "", EOS: "", BREAK: "", WORD: " "},
    **{"tɕ": "ʨ", "tɕʰ": "ʨʰ", "ʈʂ": "ꭧ", "ʈʂʰ": "ꭧʰ", "ts": "ʦ", "tsʰ": "ʦʰ"},
    **{"ɵ": "ø", "m̩": "m", "n̩": "n", "ŋ̩": "ŋ"},
    **{"-i": "i", "-u": "u", "-y": "y", "-n": "n", "-ŋ": "ŋ", "-m": "m"},
    **{"-p": "p", "-t": "t", "-k": "k", "-ɻ": "ɚ"},
    **{"AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I"},
    **{"B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "EH": "ɛ", "ER": "ɜɹ"},
    **{"EY": "A", "F": "f", "G": "ɡ", "HH": "h", "IH": "ɪ", "IY": "i"},
    **{"JH": "ʤ", "K": "k", "L": "l", "M": "m", "N": "n", "NG": "ŋ", "OW": "O"},
    **{"OY": "Y", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ"},
    **{"UH": "ʊ", "UW": "u", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ"},
}
_ENGLISH_VOWELS = frozenset(
    ("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY")
) | {"UH", "UW"}
_GLIDED = frozenset(("-i", "-u", "-y"))


@dataclass(frozen=True)
class Tokens:
    """A sentence in Kokoro's alphabet.

    Attributes:
        ids: Token numbers without the zero that the model wants at both ends.
        owner: For each token, the index of the symbol it speaks.
    """

    ids: tuple[int, ...]
    owner: tuple[int, ...]


def _arrow(symbol: Symbol) -> str:
    """The Mandarin arrow nearest to a contour; none for a light syllable."""
    if not symbol.has_tone or symbol.stress == STRESS_NONE:
        return ""

    def distance(tone: int) -> int:
        (start, middle, end), _ = contour("zh", tone)
        return (
            (start - symbol.start) ** 2
            + (middle - symbol.middle) ** 2
            + (end - symbol.end) ** 2
        )

    return _ARROWS[min(_ARROWS, key=distance)]


def _english(name: str, stress: int) -> str:
    """An English phone, with its stress mark before a vowel."""
    if name not in _ENGLISH_VOWELS:
        return _SPELLING[name]
    if stress == STRESS_NONE:
        return {"AH": "ə", "ER": "əɹ"}.get(name, _SPELLING[name])
    mark = {STRESS_SECOND: "ˌ", STRESS_FULL: "ˈ"}[stress]
    return mark + _SPELLING[name]


def tokens_of(symbols: Sequence[Symbol]) -> Tokens:
    """Spell a sentence for Kokoro.

    Args:
        symbols: The sentence, with or without start and end marks.

    Returns:
        Token numbers and the symbol that each belongs to.
    """
    ids: list[int] = []
    owner: list[int] = []
    for index, symbol in enumerate(symbols):
        name = SYMBOLS[symbol.id]
        if name in _ENGLISH_VOWELS or name.isupper():
            text = _english(name, symbol.stress)
        else:
            text = _SPELLING.get(name, name)
        after = SYMBOLS[symbols[index + 1].id] if index + 1 < len(symbols) else ""
        is_nucleus = name in VOWEL_NAMES and after not in _GLIDED
        if is_nucleus or name in _GLIDED:
            text += _arrow(symbol)
        for character in text:
            ids.append(VOCABULARY[character])
            owner.append(index)
    return Tokens(tuple(ids), tuple(owner))
