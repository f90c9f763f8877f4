"""Syllables into segments: pinyin, jyutping, Chengdu spelling and ARPAbet.

Each function takes one syllable as :class:`~common.text.receipt.Reading` spells it and
answers with names from the symbol table. Tone is left to :mod:`common.text.contours`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from common.text.symbols import ARPABET

Segments = tuple[str, ...]

_INITIALS = {
    "b": "p",
    "p": "pʰ",
    "m": "m",
    "f": "f",
    "d": "t",
    "t": "tʰ",
    "n": "n",
    "l": "l",
    "g": "k",
    "k": "kʰ",
    "h": "x",
    "j": "tɕ",
    "q": "tɕʰ",
    "x": "ɕ",
    "zh": "ʈʂ",
    "ch": "ʈʂʰ",
    "sh": "ʂ",
    "r": "ɻ",
    "z": "ts",
    "c": "tsʰ",
    "s": "s",
    # Chengdu only: voiced fricatives, velar and palatal nasals.
    "v": "v",
    "ng": "ŋ",
    "ny": "ɲ",
}

_FINALS: dict[str, Segments] = {
    "a": ("a",),
    "ai": ("a", "-i"),
    "an": ("a", "-n"),
    "ang": ("a", "-ŋ"),
    "ao": ("a", "-u"),
    "e": ("ɤ",),
    "ê": ("ɛ",),
    "ei": ("e", "-i"),
    "en": ("ə", "-n"),
    "eng": ("ə", "-ŋ"),
    "er": ("ɚ",),
    "i": ("i",),
    "ia": ("j", "a"),
    "ian": ("j", "ɛ", "-n"),
    "iang": ("j", "a", "-ŋ"),
    "iao": ("j", "a", "-u"),
    "ie": ("j", "e"),
    "in": ("i", "-n"),
    "iou": ("j", "o", "-u"),
    "ing": ("i", "-ŋ"),
    "iong": ("j", "ʊ", "-ŋ"),
    "io": ("j", "o"),
    "ong": ("ʊ", "-ŋ"),
    "ou": ("o", "-u"),
    "u": ("u",),
    "uei": ("w", "e", "-i"),
    "ua": ("w", "a"),
    "uai": ("w", "a", "-i"),
    "uan": ("w", "a", "-n"),
    "uen": ("w", "ə", "-n"),
    "uang": ("w", "a", "-ŋ"),
    "ueng": ("w", "ə", "-ŋ"),
    "uo": ("w", "o"),
    "o": ("w", "o"),
    "v": ("y",),
    "ve": ("ɥ", "e"),
    "van": ("ɥ", "ɛ", "-n"),
    "vn": ("y", "-n"),
    # Chengdu only: rounded finals of former checked syllables, second division.
    "ue": ("w", "e"),
    "vo": ("ɥ", "o"),
    "iai": ("j", "a", "-i"),
}

_SPELLING = {"iu": "iou", "ui": "uei", "un": "uen"}
_APICAL = frozenset(("zh", "ch", "sh", "r", "z", "c", "s"))
_SYLLABIC_PINYIN: dict[str, Segments] = {
    "m": ("m̩",),
    "n": ("n̩",),
    "ng": ("ŋ̩",),
    "hm": ("x", "m̩"),
    "hng": ("x", "ŋ̩"),
}
_TONED = re.compile(r"([a-zêü]+?)([1-6])")


def split_tone(syllable: str) -> tuple[str, int]:
    """Split ``hang2`` into its letters and its tone.

    Args:
        syllable: Letters (ü as v or ü) and one tone digit.

    Returns:
        Letters, with ü written v, and the tone.

    Raises:
        ValueError: It is not spelled like that.
    """
    match = _TONED.fullmatch(syllable)
    if match is None:
        raise ValueError(f"not a syllable with a tone: {syllable!r}")
    return match[1].replace("ü", "v"), int(match[2])


def _split_onset(letters: str, digraphs: tuple[str, ...]) -> tuple[str, str]:
    """Split an onset from the rest: digraphs first, then one consonant letter."""
    for onset in digraphs:
        if letters.startswith(onset) and len(letters) > len(onset):
            return onset, letters[len(onset) :]
    if letters[0] in "aeiouêwy":
        return "", letters
    return letters[0], letters[1:]


def _zero_onset(letters: str) -> str:
    """Undo the spelling of syllables without an onset (``yan`` is ``ian``)."""
    if letters.startswith("yu"):
        return "v" + letters[2:] if letters != "yue" else "ve"
    if letters.startswith("yi"):
        return letters[1:]
    if letters.startswith("y"):
        return {"you": "iou", "yong": "iong", "yo": "io"}.get(
            letters, "i" + letters[1:]
        )
    if letters.startswith("wu"):
        return letters[1:]
    if letters.startswith("w"):
        rest = "u" + letters[1:]
        return _SPELLING.get(rest, rest) if rest != "ueng" else "ueng"
    return letters


@lru_cache(maxsize=4096)
def mandarin(syllable: str) -> Segments:
    """Spell a Mandarin or Chengdu syllable in segments.

    Erhua is a final ``r`` on the syllable (``zher4``); it drops a final ``i`` or ``n``
    the way the spoken language does.

    Args:
        syllable: Pinyin with tone digit, ü written v, such as ``hang2`` or ``ngan1``.

    Returns:
        Segment names in order.

    Raises:
        ValueError: The spelling is not pinyin.
    """
    letters, _ = split_tone(syllable)
    if letters in _SYLLABIC_PINYIN:
        return _SYLLABIC_PINYIN[letters]
    rhotic = letters.endswith("r") and letters != "er" and len(letters) > 1
    if rhotic:
        letters = letters[:-1]
    onset, final = _split_onset(letters, ("zh", "ch", "sh", "ny", "ng"))
    if not onset:
        final = _zero_onset(final)
    elif onset in "jqx" or onset == "ny":
        final = re.sub(r"^u", "v", final)
    final = _SPELLING.get(final, final)
    # Pinyin writes the same final ue after j, q, x and, without its dots, n and l.
    if onset in ("n", "l") and final == "ue":
        final = "ve"
    if final == "i" and onset in _APICAL:
        vowel: Segments = ("ɨ",)
    elif final == "o" and onset not in ("b", "p", "m", "f", "w", ""):
        vowel = ("o",)
    elif final in _FINALS:
        vowel = _FINALS[final]
    else:
        raise ValueError(f"not a Mandarin syllable: {syllable!r}")
    if onset == "" and final == "o":
        vowel = ("ɔ",)
    if onset and onset not in _INITIALS:
        raise ValueError(f"not a Mandarin syllable: {syllable!r}")
    head: Segments = (_INITIALS[onset],) if onset else ()
    if rhotic:
        kept = tuple(name for name in vowel if name not in ("-i", "-n"))
        vowel = (*kept, "-ɻ")
    return head + vowel


_JYUTPING_ONSETS: dict[str, Segments] = {
    "gw": ("k", "w"),
    "kw": ("kʰ", "w"),
    "ng": ("ŋ",),
    "b": ("p",),
    "p": ("pʰ",),
    "m": ("m",),
    "f": ("f",),
    "d": ("t",),
    "t": ("tʰ",),
    "n": ("n",),
    "l": ("l",),
    "g": ("k",),
    "k": ("kʰ",),
    "h": ("h",),
    "w": ("w",),
    "z": ("ts",),
    "c": ("tsʰ",),
    "s": ("s",),
    "j": ("j",),
    "": (),
}
_JYUTPING_NUCLEI = {
    "aa": "aː",
    "a": "ɐ",
    "eo": "ɵ",
    "oe": "œ",
    "e": "ɛ",
    "i": "i",
    "o": "ɔ",
    "u": "u",
    "yu": "y",
}
_JYUTPING_CODAS = {
    "": (),
    "i": ("-i",),
    "u": ("-u",),
    "m": ("-m",),
    "n": ("-n",),
    "ng": ("-ŋ",),
    "p": ("-p",),
    "t": ("-t",),
    "k": ("-k",),
}
_JYUTPING = re.compile(
    r"(gw|kw|ng|[bpmfdtnlgkhwzcsj]?)(aa|eo|oe|yu|[aeiou])(i|u|ng|[mnptk]?)"
)


@lru_cache(maxsize=4096)
def cantonese(syllable: str) -> Segments:
    """Spell a jyutping syllable in segments.

    Args:
        syllable: Jyutping with tone digit, such as ``gwong1``.

    Returns:
        Segment names in order; ``eoi`` ends in the rounded glide ``-y``.

    Raises:
        ValueError: The spelling is not jyutping.
    """
    letters, _ = split_tone(syllable)
    if letters in ("m", "ng", "hm", "hng"):
        head: Segments = ("h",) if letters.startswith("h") else ()
        return (*head, "ŋ̩" if letters.endswith("ng") else "m̩")
    match = _JYUTPING.fullmatch(letters)
    if match is None:
        raise ValueError(f"not a jyutping syllable: {syllable!r}")
    onset, nucleus, coda = match.groups()
    tail = _JYUTPING_CODAS[coda]
    if nucleus == "eo" and coda == "i":
        tail = ("-y",)
    return (*_JYUTPING_ONSETS[onset], _JYUTPING_NUCLEI[nucleus], *tail)


_PHONES = frozenset(ARPABET)


@lru_cache(maxsize=4096)
def english(syllable: str) -> tuple[Segments, int]:
    """Split an English syllable such as ``HH.EH1`` into phones and stress.

    Args:
        syllable: ARPAbet phones joined by dots; one vowel carries a digit 0, 1 or 2.

    Returns:
        Phone names and the digit (0 where no vowel carries one).

    Raises:
        ValueError: A phone is not ARPAbet.
    """
    digit = 0
    names: list[str] = []
    for phone in syllable.split("."):
        if phone[-1:].isdigit():
            digit = int(phone[-1])
            phone = phone[:-1]
        if phone not in _PHONES:
            raise ValueError(f"not an English syllable: {syllable!r}")
        names.append(phone)
    return tuple(names), digit
