"""English inside Chinese: brand words, letter names, a dictionary, letters to sound.

A word is a list of syllables, each its ARPAbet phones joined by dots (``HH.EH1``).
Order: our own words, words in capitals that are names of letters, the dictionary, the
parts of camel case, and last a small set of letter-to-sound rules.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"

_LETTERS = {
    "A": "EY1",
    "B": "B.IY1",
    "C": "S.IY1",
    "D": "D.IY1",
    "E": "IY1",
    "F": "EH1.F",
    "G": "JH.IY1",
    "H": "EY1.CH",
    "I": "AY1",
    "J": "JH.EY1",
    "K": "K.EY1",
    "L": "EH1.L",
    "M": "EH1.M",
    "N": "EH1.N",
    "O": "OW1",
    "P": "P.IY1",
    "Q": "K.Y.UW1",
    "R": "AA1.R",
    "S": "EH1.S",
    "T": "T.IY1",
    "U": "Y.UW1",
    "V": "V.IY1",
    "W": "D.AH1 B.AH0.L Y.UW0",
    "X": "EH1.K.S",
    "Y": "W.AY1",
    "Z": "Z.IY1",
}
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH".split()
_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split()
_ALPHABET = [chr(code) for code in range(33, 127) if chr(code) not in '\\"']
_PHONES = dict(
    zip(
        _ALPHABET,
        [*_CONSONANTS, *(vowel + digit for vowel in _VOWELS for digit in "012")],
        strict=False,
    )
)
"""Phones of the packed dictionary, one printable character each."""

_ONSETS = frozenset(
    "P.R P.L B.R B.L T.R D.R K.R K.L G.R G.L F.R F.L TH.R SH.R S.P S.T S.K S.M S.N S.L "
    "S.W T.W D.W K.W G.W HH.W TH.W P.Y B.Y K.Y F.Y M.Y V.Y HH.Y S.F S.P.R S.P.L S.T.R "
    "S.K.R S.K.W S.K.Y".split()
)
_SHORT_WORDS = frozenset(
    "THE AND FOR YOU OUR ALL NEW HOT BUY ONE TWO SIX TEN GET OFF BIG TOP NOW DAY "
    "TEA BAR "
    "FUN SUN RED SKY AIR ART TOY BOY PET CAT DOG CAR BUS ZOO GYM BAG CUP ICE PIE "
    "HAM EGG "
    "JAM OUT YES WAY WIN BOX FIT FOX KEY MAN MEN MOM DAD KID LOW MAX MIX NOT OLD "
    "ONLY IN ON "
    "UP GO NO TO OF AT BY OR IS IT WE MY BE SO AN HI".split()
)
MAX_LETTERS = 3
"""Capitals up to this length are spelled, unless they are everyday words."""

_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-ZÀ-Þ]?[a-zß-ɏ]+|[A-Z]")


@lru_cache(maxsize=1)
def _own() -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in (_DATA / "english.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, syllables = line.split("\t")
            pairs[word] = syllables
    return pairs


@lru_cache(maxsize=1)
def _packed() -> list[str]:
    return sorted((_DATA / "cmudict.txt").read_text("ascii").splitlines())


@lru_cache(maxsize=4096)
def _dictionary(word: str) -> tuple[str, ...]:
    """Phones of a dictionary word, empty if it is none."""
    lines = _packed()
    place = bisect_left(lines, f"{word} ")
    if place == len(lines) or not lines[place].startswith(f"{word} "):
        return ()
    return tuple(_PHONES[code] for code in lines[place][len(word) + 1 :])


def is_word(word: str) -> bool:
    """Whether the dictionary or our own list has this word."""
    word = word.lower()
    return word in _own() or bool(_dictionary(word))


def syllabify(phones: tuple[str, ...]) -> tuple[str, ...]:
    """Cut phones into syllables; consonants go to the next vowel as far as they may.

    Args:
        phones: ARPAbet phones, stress digits on vowels.

    Returns:
        Syllables, phones joined by dots.
    """
    vowels = [i for i, phone in enumerate(phones) if phone[-1].isdigit()]
    if not vowels:
        return (".".join(phones),) if phones else ()
    edges = [0]
    for left, right in itertools.pairwise(vowels):
        edge = right
        while edge - 1 > left:
            onset = ".".join(phones[edge - 1 : right])
            single = edge - 1 == right - 1 and phones[edge - 1] != "NG"
            if not single and onset not in _ONSETS:
                break
            edge -= 1
        edges.append(edge)
    edges.append(len(phones))
    return tuple(
        ".".join(phones[start:end]) for start, end in itertools.pairwise(edges)
    )


_LIGATURES = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ð": "d", "ı": "i"}
)


def _plain_letters(word: str) -> str:
    """Lower-case ASCII letters of a word, accents dropped."""
    bare = unicodedata.normalize("NFD", word.lower().translate(_LIGATURES))
    return "".join(c for c in bare if "a" <= c <= "z")


def spell(word: str) -> tuple[str, ...]:
    """Read a word letter by letter.

    Args:
        word: Latin letters; accents and apostrophes are dropped.

    Returns:
        Syllables.
    """
    return tuple(
        syllable
        for letter in _plain_letters(word).upper()
        for syllable in _LETTERS[letter].split()
    )


_SOUNDS: tuple[tuple[str, str], ...] = (
    ("tion", "SH AH0 N"),
    ("sion", "ZH AH0 N"),
    ("tch", "CH"),
    ("igh", "AY1"),
    ("eau", "OW1"),
    ("sch", "S K"),
    ("ch", "CH"),
    ("sh", "SH"),
    ("th", "TH"),
    ("ph", "F"),
    ("ck", "K"),
    ("ng", "NG"),
    ("qu", "K W"),
    ("wh", "W"),
    ("kn", "N"),
    ("wr", "R"),
    ("zh", "ZH"),
    ("ee", "IY1"),
    ("ea", "IY1"),
    ("oo", "UW1"),
    ("ou", "AW1"),
    ("ow", "OW1"),
    ("oi", "OY1"),
    ("oy", "OY1"),
    ("ai", "EY1"),
    ("ay", "EY1"),
    ("au", "AO1"),
    ("aw", "AO1"),
    ("ew", "UW1"),
    ("ey", "IY1"),
    ("ie", "IY1"),
    ("oa", "OW1"),
    ("ar", "AA1 R"),
    ("or", "AO1 R"),
    ("er", "ER1"),
    ("ir", "ER1"),
    ("ur", "ER1"),
    ("ll", "L"),
    ("ss", "S"),
    ("tt", "T"),
    ("nn", "N"),
    ("mm", "M"),
    ("pp", "P"),
    ("bb", "B"),
    ("dd", "D"),
    ("ff", "F"),
    ("gg", "G"),
    ("zz", "Z"),
    ("cc", "K"),
    ("rr", "R"),
    ("a", "AE1"),
    ("b", "B"),
    ("d", "D"),
    ("e", "EH1"),
    ("f", "F"),
    ("g", "G"),
    ("h", "HH"),
    ("i", "IH1"),
    ("j", "JH"),
    ("k", "K"),
    ("l", "L"),
    ("m", "M"),
    ("n", "N"),
    ("o", "OW1"),
    ("p", "P"),
    ("q", "K"),
    ("r", "R"),
    ("s", "S"),
    ("t", "T"),
    ("u", "AH1"),
    ("v", "V"),
    ("w", "W"),
    ("x", "K S"),
    ("z", "Z"),
)


def sound_out(word: str) -> tuple[str, ...]:
    """Guess a word's phones from its letters.

    Args:
        word: Lower-case letters.

    Returns:
        Phones; only the first vowel is stressed.
    """
    text = re.sub(r"(?<=[a-z]{2})e$", "", word)
    phones: list[str] = []
    place = 0
    while place < len(text):
        if text[place] == "c":
            phones.append("S" if text[place + 1 : place + 2] in tuple("eiy") else "K")
            if text[place : place + 2] == "ch":
                phones[-1] = "CH"
                place += 1
            elif text[place : place + 2] in ("ck", "cc"):
                place += 1
            place += 1
            continue
        if text[place] == "y":
            phones.append("Y" if place == 0 else "IY1")
            place += 1
            continue
        for letters, sounds in _SOUNDS:
            if text.startswith(letters, place):
                phones.extend(sounds.split())
                place += len(letters)
                break
        else:
            place += 1
    stressed = False
    for index, phone in enumerate(phones):
        if phone.endswith("1"):
            phones[index] = phone[:-1] + ("0" if stressed else "1")
            stressed = True
    return tuple(phones)


@lru_cache(maxsize=4096)
def pronounce(word: str) -> tuple[tuple[str, ...], str]:
    """Read one Latin word.

    Args:
        word: Latin letters, apostrophes allowed.

    Returns:
        Its syllables and the rule that read it: ``english.own``, ``english.letters``,
        ``english.dictionary``, ``english.parts`` or ``english.guess``.
    """
    word = word.replace("’", "'")
    lower = word.lower()
    own = _own().get(lower)
    if own is not None:
        if own == "*":
            return spell(word), "english.letters"
        return tuple(own.split()), "english.own"
    if "-" in word:
        made = tuple(s for part in word.split("-") for s in pronounce(part)[0])
        return made, "english.parts"
    capitals = word.isupper()
    if len(word) == 1 or (
        capitals and len(word) <= MAX_LETTERS and word not in _SHORT_WORDS
    ):
        return spell(word), "english.letters"
    phones = _dictionary(lower)
    if phones:
        return syllabify(phones), "english.dictionary"
    if capitals:
        return spell(word), "english.letters"
    parts = _CAMEL.findall(word)
    if len(parts) > 1:
        made = tuple(s for part in parts for s in pronounce(part)[0])
        return made, "english.parts"
    stem = lower[:-2] if lower.endswith("'s") else ""
    if stem and _dictionary(stem):
        return syllabify((*_dictionary(stem), "Z")), "english.dictionary"
    letters = _plain_letters(word)
    if re.search("[aeiouy]", letters):
        return syllabify(sound_out(letters)), "english.guess"
    return spell(word), "english.letters"
