"""What a reading has ChatTTS say: every word once, breaks as silence, no more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers", reason="it comes with the extra engine")

from cloud.engine.chattts.script import Line, lines
from cloud.engine.chattts.sequence import MARKUP, Tokenizer, Words
from common.errors import YaoheError
from common.text import read
from common.text.pieces import MAX_BREAK_MS
from tests.tools.random_tokenizer import CONTROL, write_tokenizer

pytestmark = pytest.mark.slow

ENTRIES = 21178
LONG = 20_000
"""Characters of a long text."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, ENTRIES)
    return Tokenizer(folder / "tokenizer.json")


def said(made: list[Line]) -> list[tuple[int, ...] | int]:
    return [line.words.ids or line.silence_ms for line in made]


def test_a_break_ends_a_line_and_is_silence_of_its_length(tokenizer: Tokenizer) -> None:
    text = '今日<break time="700ms"/>特价，<break time="99s"/>好<break time="50ms"/>'
    made = lines(read(text, ssml=True), tokenizer)
    today, special, good = (tokenizer.words(x).ids for x in ("今日", "特价，", "好"))
    assert said(made) == [today, 700, special, MAX_BREAK_MS, good, 50]


def test_words_stay_apart_around_a_break(tokenizer: Tokenizer) -> None:
    text = 'the world 今日<break time="100ms"/>hello world[laugh]the'
    made = lines(read(text, ssml=True), tokenizer)
    before, after = (
        tokenizer.words(x).ids for x in ("the world今日", "hello world the")
    )
    assert said(made) == [before, 100, after]


def test_control_tokens_are_silent_unless_they_are_allowed(
    tokenizer: Tokenizer,
) -> None:
    reading = read("今日[laugh]特价[uv_break]好[Stts]")
    assert lines(reading, tokenizer) == [Line(tokenizer.words("今日特价好"))]
    marked = f"今日{MARKUP['[laugh]']}特价{MARKUP['[uv_break]']}好"
    asked = lines(reading, tokenizer, has_markup=True)
    assert asked == [Line(tokenizer.words(marked, has_markup=True))]
    assert len(asked[0].words.ids) == len(tokenizer.words("今日特价好").ids) + 2


@given(st.text(st.sampled_from("今日[]laugh_uvbrek\ue000\ue001，"), max_size=30))
@settings(max_examples=60)
def test_no_text_smuggles_a_control_token(tokenizer: Tokenizer, text: str) -> None:
    reading = read(f"好{text}")
    allowed = sum(text.count(name) for name in MARKUP)
    for has_markup, most in ((False, 0), (True, allowed)):
        made = lines(reading, tokenizer, has_markup=has_markup)
        ids = [number for line in made for number in line.words.ids]
        assert sum(n >= ENTRIES - len(CONTROL) for n in ids) <= most


@given(st.text(st.sampled_from("今日好 the,，。9.元<>🙂[]"), max_size=40))
@settings(max_examples=60)
def test_spans_change_no_word(tokenizer: Tokenizer, text: str) -> None:
    whole = read(f"好{text}")
    if whole.unread:
        return
    bare = type(whole)(**{**vars(whole), "spans": ()})
    assert lines(bare, tokenizer) == lines(whole, tokenizer)


def test_a_reading_that_lost_its_spans_says_the_same_words(
    tokenizer: Tokenizer,
) -> None:
    whole = read("今日特价，好。")
    bare = type(whole)(**{**vars(whole), "spans": ()})
    assert lines(bare, tokenizer) == lines(whole, tokenizer)


def test_marks_alone_are_no_line(tokenizer: Tokenizer) -> None:
    text = '今日<break time="100ms"/>，。<break time="100ms"/>好'
    made = lines(read(text, ssml=True), tokenizer)
    assert said(made) == [
        tokenizer.words("今日").ids,
        100,
        100,
        tokenizer.words("好").ids,
    ]


def test_the_longest_text_is_said_to_its_last_clause(tokenizer: Tokenizer) -> None:
    clause = "今日特价，"
    text = clause * (LONG // len(clause) - 1) + "再见。"
    made = lines(read(text), tokenizer)
    together = [number for line in made for number in line.words.ids]
    assert together == list(tokenizer.words(text).ids)
    assert max(len(line.words.ids) for line in made) <= 60
    assert made[-1].words.ids[-3:] == tokenizer.words("再见。").ids


def test_what_the_model_has_no_token_for_is_refused_by_name(
    tokenizer: Tokenizer,
) -> None:
    reading = read("今日好")
    strange = type(reading)(**{**vars(reading), "spans": (), "spoken": "今𠮷日"})
    with pytest.raises(YaoheError, match="no token for 𠮷") as raised:
        lines(strange, tokenizer)
    assert raised.value.code == "unreadable_text"


def test_silence_alone_is_nothing_to_say(tokenizer: Tokenizer) -> None:
    reading = read('<break time="100ms"/>', ssml=True)
    with pytest.raises(YaoheError, match="nothing to say") as raised:
        lines(reading, tokenizer)
    assert raised.value.code == "nothing_to_say"
    assert Line(Words(())).silence_ms == 0
