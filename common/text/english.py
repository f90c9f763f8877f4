"""English inside Chinese: brand words, letter names and syllables in ARPAbet."""

from __future__ import annotations

LETTERS: dict[str, tuple[str, ...]] = {
    "A": ("EY1",),
    "B": ("B.IY1",),
    "C": ("S.IY1",),
    "D": ("D.IY1",),
    "E": ("IY1",),
    "F": ("EH1.F",),
    "G": ("JH.IY1",),
    "H": ("EY1.CH",),
    "I": ("AY1",),
    "J": ("JH.EY1",),
    "K": ("K.EY1",),
    "L": ("EH1.L",),
    "M": ("EH1.M",),
    "N": ("EH1.N",),
    "O": ("OW1",),
    "P": ("P.IY1",),
    "Q": ("K.Y.UW1",),
    "R": ("AA1.R",),
    "S": ("EH1.S",),
    "T": ("T.IY1",),
    "U": ("Y.UW1",),
    "V": ("V.IY1",),
    "W": ("D.AH1", "B.AH0.L", "Y.UW0"),
    "X": ("EH1.K.S",),
    "Y": ("W.AY1",),
    "Z": ("Z.IY1",),
}


def spell(word: str) -> tuple[str, ...]:
    """Read a word letter by letter.

    Args:
        word: Latin letters.

    Returns:
        Syllables.
    """
    return tuple(s for letter in word.upper() for s in LETTERS.get(letter, ()))


def pronounce(word: str) -> tuple[tuple[str, ...], str]:
    """Read one Latin word.

    Args:
        word: Latin letters, apostrophes allowed.

    Returns:
        Its syllables and the rule that read it.
    """
    return spell(word), "english.letters"
