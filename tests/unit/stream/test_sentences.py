from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from common.streaming.sentences import LONGEST, Sentences

PIECES = st.lists(st.text("今日特价9.5元，。！？”\n a-", max_size=12), max_size=12)


@given(PIECES)
def test_nothing_is_lost_or_said_twice(pieces: list[str]) -> None:
    sentences = Sentences()
    said = [one for piece in pieces for one in sentences.add(piece)]
    said += sentences.flush()
    assert "".join("".join(said).split()) == "".join("".join(pieces).split())


@given(PIECES)
def test_the_cuts_of_the_pieces_do_not_matter(pieces: list[str]) -> None:
    one, many = Sentences(), Sentences()
    whole = [*one.add("".join(pieces)), *one.flush()]
    cut = [s for piece in pieces for s in many.add(piece)] + many.flush()
    assert whole == cut


def test_a_price_is_never_cut() -> None:
    sentences = Sentences()
    assert [s for c in "草莓9.9元，买一送一" for s in sentences.add(c)] == []
    assert sentences.flush() == ["草莓9.9元，买一送一"]


def test_a_closing_quotation_mark_stays_with_its_sentence() -> None:
    sentences = Sentences()
    assert sentences.add("他说：“来吧。") == []
    assert sentences.add("”欢迎") == ["他说：“来吧。”"]


def test_a_sentence_that_never_ends_is_cut_at_a_pause() -> None:
    sentences = Sentences()
    said = sentences.add("好的，" * LONGEST)
    assert said
    assert all(s.endswith("，") and len(s) <= LONGEST for s in said)
    said = Sentences().add("好" * (LONGEST * 2 + 1))
    assert [len(s) for s in said] == [LONGEST, LONGEST]
