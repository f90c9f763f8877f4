"""Phrase keys: what counts and what does not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.phrase import phrase_key
from common.text.symbols import Symbol, framed

SYMBOLS = framed([Symbol(14, 50, 50, 46, 2)])


def _key(**changes: float) -> str:
    return phrase_key(SYMBOLS, voice="woman", dialect="zh", **changes)


def test_the_neutral_values_are_the_absent_ones() -> None:
    assert _key() == _key(speed=1.0, pitch=-0.0, volume=0.0)


@given(st.floats(0.25, 4.0), st.floats(-12, 12), st.floats(-24, 12))
def test_what_is_the_same_in_the_key_s_units_has_the_same_key(
    speed: float, pitch: float, volume: float
) -> None:
    rounded = {
        "speed": round(speed * 1000) / 1000,
        "pitch": round(pitch * 100) / 100,
        "volume": round(volume * 100) / 100,
    }
    assert _key(speed=speed, pitch=pitch, volume=volume) == _key(**rounded)


def test_a_list_and_a_tuple_of_symbols_are_the_same() -> None:
    assert phrase_key(list(SYMBOLS), voice="woman", dialect="zh") == _key()


@pytest.mark.parametrize("place", range(len(Symbol._fields)))
def test_every_number_of_a_symbol_counts(place: int) -> None:
    numbers = list(SYMBOLS[1])
    numbers[place] += 1
    changed = (SYMBOLS[0], Symbol(*numbers), SYMBOLS[2])
    assert phrase_key(changed, voice="woman", dialect="zh") != _key()


def test_a_speed_without_value_has_no_key() -> None:
    with pytest.raises(ValueError, match="NaN"):
        _key(speed=math.nan)
