"""A text in pieces: nothing lost, the first piece early, silence where it belongs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud.engine.kokoro.pieces import MAX_TOKENS, PAUSE_MS, pieces_of
from cloud.engine.kokoro.tokens import tokens_of
from common.text.receipt import Unit
from common.text.symbols import BREAK, PAUSES, PUNCTUATION, WORD, Symbol
from common.text.voicing import symbols_of


def syllables(text: str) -> list[Unit]:
    return [Unit(value, starts_word=True) for value in text.split()]


def pause(mark: str, ms: int = 0) -> Unit:
    return Unit(mark, is_pause=True, ms=ms)


SHORT = syllables("jin1 ri4 te4 jia4")


def segments(symbols: tuple[Symbol, ...]) -> list[Symbol]:
    return [s for s in symbols if s.name not in PAUSES and s.name != WORD]


def test_the_first_piece_ends_at_the_first_pause_that_is_far_enough() -> None:
    units = [*SHORT * 3, pause(","), *SHORT * 3, pause(","), *SHORT * 3, pause(".")]
    pieces = list(pieces_of(symbols_of(units)))
    assert [piece.pause_ms for piece in pieces] == [PAUSE_MS[","], PAUSE_MS["."]]
    assert len(pieces[1].symbols) > len(pieces[0].symbols)


def test_every_sentence_is_a_piece() -> None:
    units = [*SHORT, pause("!"), *SHORT, pause("?"), *SHORT]
    pieces = list(pieces_of(symbols_of(units)))
    assert [piece.pause_ms for piece in pieces] == [350, 350, 0]


def test_a_break_is_silence_of_its_length_and_no_symbol() -> None:
    units = [*SHORT, pause(BREAK, 700), *SHORT]
    first, second = pieces_of(symbols_of(units))
    assert (first.break_ms, second.break_ms) == (700, 0)
    assert all(symbol.name != BREAK for symbol in first.symbols)


def test_a_leading_break_is_silence_alone() -> None:
    first, _ = pieces_of(symbols_of([pause(BREAK, 300), *SHORT]))
    assert (first.symbols, first.break_ms) == ((), 300)


def test_prosody_cuts_where_it_changes() -> None:
    loud = [
        Unit(unit.value, starts_word=True, speed=800, pitch=200, volume=600)
        for unit in SHORT
    ]
    pieces = list(pieces_of(symbols_of([*SHORT, *loud, *SHORT])))
    assert len(pieces) == 3
    assert (pieces[1].speed, pieces[1].pitch, pieces[1].volume) == (0.8, 2.0, 6.0)


def test_a_run_without_pauses_is_cut_between_words() -> None:
    pieces = list(pieces_of(symbols_of(SHORT * 60)))
    assert len(pieces) > 2
    for piece in pieces:
        assert len(tokens_of(piece.symbols).ids) <= MAX_TOKENS
    for piece in pieces[:-1]:
        assert piece.symbols[-1].name == WORD


UNITS = st.one_of(
    st.sampled_from(SHORT),
    st.sampled_from(PUNCTUATION).map(pause),
    st.integers(1, 2000).map(lambda ms: pause(BREAK, ms)),
    st.builds(
        Unit,
        st.sampled_from(["mei3", "zher4", "xiong2"]),
        starts_word=st.booleans(),
        speed=st.sampled_from([800, 1000]),
    ),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(UNITS, max_size=150))
def test_nothing_is_lost_whatever_is_said(units: list[Unit]) -> None:
    symbols = symbols_of(units)
    pieces = list(pieces_of(symbols))
    spoken = [symbol for piece in pieces for symbol in segments(piece.symbols)]
    assert spoken == segments(symbols)
    assert sum(piece.break_ms for piece in pieces) == sum(s.ms for s in symbols)
    for piece in pieces:
        assert len(tokens_of(piece.symbols).ids) <= MAX_TOKENS


@pytest.mark.parametrize("mark", PUNCTUATION)
def test_every_mark_has_its_silence(mark: str) -> None:
    assert PAUSE_MS[mark] > 0
