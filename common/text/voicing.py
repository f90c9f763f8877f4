"""From the spoken stream to symbols: the only place where the two meet."""

from __future__ import annotations

from collections.abc import Iterable

from common.text import segment
from common.text.contours import contour
from common.text.receipt import Unit
from common.text.symbols import (
    BREAK,
    IDS,
    STRESS_FULL,
    STRESS_NONE,
    STRESS_SECOND,
    WORD,
    Symbol,
    framed,
)

_ENGLISH_STRESS = {0: STRESS_NONE, 1: STRESS_FULL, 2: STRESS_SECOND}


def _syllable(unit: Unit, tone_before: int) -> tuple[list[Symbol], int]:
    """Symbols of one syllable, and the tone that the next one stands after."""
    if unit.language == "en":
        names, digit = segment.english(unit.value)
        shape, stress = (0, 0, 0), _ENGLISH_STRESS[digit]
        tone = 0
    else:
        spell = segment.cantonese if unit.language == "gd" else segment.mandarin
        names = spell(unit.value)
        tone = int(unit.value[-1])
        shape, stress = contour(unit.language, tone, tone_before)
    edits = (0, unit.speed, unit.pitch, unit.volume)
    return [Symbol(IDS[name], *shape, stress, *edits) for name in names], tone


def symbols_of(units: Iterable[Unit]) -> tuple[Symbol, ...]:
    """Turn the spoken stream into what a voice receives.

    Words inside a phrase are parted by the word symbol, phrases by their punctuation.
    A neutral tone takes its height from the syllable before it.

    Args:
        units: Syllables and pauses in order.

    Returns:
        Symbols with start and end marks.

    Raises:
        ValueError: A syllable is not spelled as its language spells.
        KeyError: A tone or a pause mark is unknown.
    """
    body: list[Symbol] = []
    tone_before = 0
    in_phrase = False
    for unit in units:
        edits = (unit.speed, unit.pitch, unit.volume)
        if unit.is_pause:
            ms = unit.ms if unit.value == BREAK else 0
            body.append(Symbol(IDS[unit.value], 0, 0, 0, STRESS_NONE, ms, *edits))
            tone_before, in_phrase = 0, False
            continue
        if unit.starts_word and in_phrase:
            body.append(Symbol(IDS[WORD], 0, 0, 0, STRESS_NONE, 0, *edits))
        spoken, tone_before = _syllable(unit, tone_before)
        body.extend(spoken)
        in_phrase = True
    return framed(body)
