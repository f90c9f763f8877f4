"""Long text is cut where one pauses, and nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.engine.chattts.clauses import LONGEST, pieces

TEXT = st.text(alphabet="一二三四五甲乙丙a b，。！\n、", max_size=400)


def bare(text: str) -> str:
    return "".join(text.split())


@given(TEXT, st.integers(1, 80))
def test_pieces_are_the_text_and_short_enough(text: str, longest: int) -> None:
    made = pieces(text, longest)
    assert bare("".join(made)) == bare(text)
    assert all(made)
    assert all(len(piece) <= longest for piece in made)


def test_a_piece_ends_with_its_sentence() -> None:
    text = "今日鸡蛋特价三块九毛八一斤。欢迎各位顾客朋友前来选购！谢谢。"
    assert pieces(text) == [
        "今日鸡蛋特价三块九毛八一斤。",
        "欢迎各位顾客朋友前来选购！",
        "谢谢。",
    ]


def test_short_sentences_share_a_piece() -> None:
    assert pieces("您好。请进。谢谢光临本店。") == ["您好。请进。谢谢光临本店。"]


def test_a_sentence_that_is_too_long_is_cut_at_its_last_comma() -> None:
    clause = "甲" * 25 + "，"
    assert pieces(clause * 3) == [clause * 2, clause]


def test_words_are_not_cut_where_there_is_a_space() -> None:
    made = pieces("hello world " * 20)
    assert all(piece.split()[-1] in ("hello", "world") for piece in made)
    assert all(piece.split()[0] in ("hello", "world") for piece in made)


@pytest.mark.parametrize("length", [4096, 20_000])
def test_the_last_clause_of_a_very_long_text_is_there(length: int) -> None:
    text = "甲乙丙丁，" * (length // 5 - 1) + "最后一句。"
    made = pieces(text)
    assert made[-1].endswith("最后一句。")
    assert max(map(len, made)) <= LONGEST
