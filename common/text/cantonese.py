"""Cantonese readings: characters to jyutping by words, with our own words in front.

Numbers never reach the library: they are Chinese characters by then, in the dialect's
own style. Readings are citation readings and surface readings at once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from common.text.mandarin import Fixed, Syllable, rows

_NUMERALS = dict(
    zip(
        "零一二三四五六七八九十百千萬億兩",
        (
            "ling4 jat1 ji6 saam1 sei3 ng5 luk6 cat1 baat3 gau2 sap6 baak3 cin1 maan6 "
            "jik1 loeng5"
        ).split(),
        strict=True,
    )
)
_NUMBER = re.compile("[零一二三四五六七八九十百千萬億兩]{2,}")


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    from canto_hk_g2p import Pipeline

    return Pipeline(punc_norm=False, user_dict=dict(rows("cantonese.tsv")))


@lru_cache(maxsize=4096)
def _tokens(phrase: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = _pipeline().convert_detailed(phrase)
    return tuple((token[0], tuple(token[1].split())) for token in found)


@lru_cache(maxsize=8192)
def reading_of(character: str) -> str:
    """Jyutping of one character, empty if unknown."""
    readings = _tokens(character)
    if len(readings) == 1 and len(readings[0][1]) == 1:
        reading = readings[0][1][0]
        if reading[-1:].isdigit():
            return reading
    return ""


def knows(character: str) -> bool:
    """Whether a character can be read."""
    return character in _NUMERALS or bool(reading_of(character))


def pronounce(phrase: str, fixed: Fixed | None = None) -> list[Syllable]:
    """Read a phrase of Chinese characters in Cantonese.

    Args:
        phrase: Characters only, traditional.
        fixed: Readings that a user fixed; they win.

    Returns:
        Its syllables; characters that :func:`knows` does not know are left out.
    """
    spoken: list[Syllable] = []
    numerals = {
        place
        for match in _NUMBER.finditer(phrase)
        for place in range(match.start(), match.end())
    }
    place = 0
    for token, readings in _tokens(phrase):
        aligned = len(readings) == len(token)
        for offset, character in enumerate(token):
            reading = readings[offset] if aligned else reading_of(character)
            if place in numerals:
                reading = _NUMERALS[character]
            if reading[-1:].isdigit():
                spoken.append(
                    Syllable(
                        place,
                        place + 1,
                        reading,
                        reading,
                        offset == 0,
                        "word.dictionary" if len(token) > 1 else "word.character",
                    )
                )
            place += 1
    for start, syllables in (fixed or {}).items():
        for offset, reading in enumerate(syllables):
            made = Syllable(
                start + offset,
                start + offset + 1,
                reading,
                reading,
                offset == 0,
                "user",
            )
            spoken = [s for s in spoken if s.start != made.start]
            spoken.append(made)
    spoken.sort(key=lambda syllable: syllable.start)
    return spoken
