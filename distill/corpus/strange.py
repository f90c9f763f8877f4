"""Syllables that Mandarin does not have, with Mandarin contours.

A dialect brings new segments and new contours. The teacher can say the segments, if not
the contours, so the corpus teaches them under the contours that the teacher knows: all
Cantonese rimes, the Chengdu initials and finals, erhua, syllabic nasals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from random import Random

from common.text import segment
from common.text.contours import contour
from common.text.symbols import IDS, STRESS_NONE, WORD, Symbol, toned

_ONSETS = [*"b p m f d t n l g k ng gw kw w h z c s j".split(), ""]
_RIMES = {
    "aa": " i u m n ng p t k",
    "a": "i u m n ng p t k",
    "e": " i ng k",
    "i": " u m n ng p t k",
    "o": " i n ng t k",
    "u": " i n ng t k",
    "oe": " ng k",
    "eo": "i n t",
    "yu": " n t",
}
_CHENGDU = (
    "ngan ngai ngo ngen ngang ngou ngao nyi nyie nyian nyiang nyu nyin vu ho hai he "
    "gue gai gang jio jiai xio xin sen cen zen nio mie bie pie"
).split()
_RHOTIC = "zher nar dianr wanr huar hair shir menr kongr huir genr ganr tour".split()
_SYLLABIC = (("ŋ̩",), ("m̩",), ("n̩",), ("x", "m̩"), ("h", "ŋ̩"))
_RAW_VOWELS = (("a",), ("o",), ("ɛ",), ("ɔ", "-n"), ("u",), ("e", "-i"), ("ə", "-n"))
_RAW_ONSETS = ("z", "v", "ɲ", "ŋ", "h")
_SHARES = (56, 22, 8, 7, 7)

Segments = tuple[str, ...]


@lru_cache(maxsize=1)
def inventory() -> tuple[tuple[Segments, ...], ...]:
    """Syllables by kind: Cantonese, Chengdu, erhua, syllabic, raw."""
    cantonese = tuple(
        segment.cantonese(f"{onset}{nucleus}{coda}1")
        for onset in _ONSETS
        for nucleus, codas in _RIMES.items()
        for coda in codas.split(" ")
        if not (onset in ("gw", "kw", "w") and nucleus in ("u", "oe", "eo", "yu"))
    )
    chengdu = tuple(segment.mandarin(f"{letters}1") for letters in _CHENGDU)
    rhotic = tuple(segment.mandarin(f"{letters}1") for letters in _RHOTIC)
    raw = tuple((onset, *rest) for onset, rest in product(_RAW_ONSETS, _RAW_VOWELS))
    return cantonese, chengdu, rhotic, _SYLLABIC, raw


def syllable(random: Random) -> list[Symbol]:
    """One syllable with a random tone.

    Args:
        random: Decides.

    Returns:
        Its symbols.
    """
    kind = random.choices(inventory(), _SHARES)[0]
    shape, stress = contour("zh", random.randint(1, 4))
    return toned(random.choice(kind), shape, stress)


def recast(symbols: Sequence[Symbol], random: Random) -> list[Symbol]:
    """Give a dialect's syllables Mandarin tones by chance.

    Neighbours of one tone cannot be told apart here and get one tone; that harms
    nothing, since the contour that is learnt is the one that was said.

    Args:
        symbols: A sentence without marks.
        random: Decides.

    Returns:
        The same segments; light syllables and English keep what they had.
    """
    said: list[Symbol] = []
    before, shape = None, (0, 0, 0)
    for symbol in symbols:
        here = symbol[1:4]
        if symbol.has_tone and symbol.stress != STRESS_NONE:
            if here != before:
                shape, _ = contour("zh", random.randint(1, 4))
            start, middle, end = shape
            symbol = symbol._replace(start=start, middle=middle, end=end)
        before = here
        said.append(symbol)
    return said


def phrase(random: Random) -> list[Symbol]:
    """Four to twelve syllables in words of one to three, with a pause now and then.

    Args:
        random: Decides.

    Returns:
        Symbols without marks, ending in a sentence mark.
    """
    body: list[Symbol] = []
    count, in_word = random.randint(4, 12), 0
    for number in range(count):
        if number and in_word <= 0:
            pause = random.choices((WORD, ",", "、"), (10, 1, 1))[0]
            body.append(Symbol(IDS[pause]))
        if in_word <= 0:
            in_word = random.randint(1, 3)
        body += syllable(random)
        in_word -= 1
    body.append(Symbol(IDS[random.choices((".", "?", "!"), (6, 2, 2))[0]]))
    return body
