"""Cutting an utterance into sentences loses nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from common.text.symbols import BOS, EOS, IDS, SYMBOLS, Symbol, framed
from common.voice.sentences import LONGEST, sentences_of

MARKS = {IDS[BOS], IDS[EOS]}
BODY = [number for number in range(1, len(SYMBOLS)) if number not in MARKS]


@given(st.lists(st.sampled_from(BODY), max_size=900))
def test_every_symbol_comes_out_once_and_in_order(numbers: list[int]) -> None:
    symbols = framed(Symbol(number) for number in numbers)
    parts = list(sentences_of(symbols))
    assert [s.id for part in parts for s in part if s.id not in MARKS] == numbers
    assert all(len(part) <= LONGEST + 2 for part in parts)
    assert all((part[0].id, part[-1].id) == (IDS[BOS], IDS[EOS]) for part in parts)


def test_a_sentence_ends_at_its_full_stop() -> None:
    a, stop = Symbol(IDS["a"]), Symbol(IDS["."])
    assert [len(part) for part in sentences_of([a, a, stop, a])] == [5, 3]


def test_marks_in_a_row_close_one_sentence() -> None:
    a, what, so = Symbol(IDS["a"]), Symbol(IDS["?"]), Symbol(IDS["!"])
    assert len(list(sentences_of([a, what, so]))) == 1


def test_a_long_sentence_is_cut_at_a_pause() -> None:
    a, comma = Symbol(IDS["a"]), Symbol(IDS[","])
    parts = list(sentences_of([*[a] * 100, comma, *[a] * 100]))
    assert [len(part) for part in parts] == [103, 102]
