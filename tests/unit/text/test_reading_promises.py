"""What every reading promises, whatever the text: nothing dropped, nothing raised."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from common.errors import YaoheError
from common.text import MAX_CHARACTERS, read
from tests.tools.reading import check_promises

DIALECTS = ("zh", "gd", "sc")
SIGNAGE = "今日特价新鲜草莓每斤买一送第2件半价满减折元¥￥$%0123456789.,:：/-~～—+×=&@#()（）【】「」！？。，、；…一不儿了得地的着 \n\tABCabcXxpmPM℃㎡°ⅡⅣ①🔥✅️\ud800\x00𠮷{}|<>[]*_歡臺"
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=40),
    st.text(st.sampled_from(SIGNAGE), max_size=40),
)
bounded = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("dialect", DIALECTS)
@bounded
@given(text=texts)
def test_every_character_is_in_exactly_one_span(dialect: str, text: str) -> None:
    check_promises(read(text, dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
@bounded
@given(text=texts)
def test_the_same_text_is_always_read_the_same(dialect: str, text: str) -> None:
    assert read(text, dialect) == read(text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@bounded
@given(text=texts)
def test_what_is_spoken_reads_as_itself(dialect: str, text: str) -> None:
    # Ornaments and unread characters leave gaps that close when it is read again.
    assume(not set(text) & set("*_歡臺"))
    reading = read(text, dialect)
    assume(not reading.unread)
    spoken = reading.spoken
    again = read(spoken, dialect)
    assert again.spoken == spoken
    assert not again.unread


@bounded
@given(text=texts)
def test_markup_never_breaks_a_promise(text: str) -> None:
    reading = read(f"<speak>{text}<break/>", ssml=True)
    place = 0
    for span in reading.spans:
        assert (span.start, span.text) == (place, reading.text[place : span.end])
        place = span.end
    assert place == len(reading.text)


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(YaoheError) as caught:
        read("好" * (MAX_CHARACTERS + 1))
    assert caught.value.code == "input_too_long"


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(YaoheError) as caught:
        read("好", "xx")
    assert caught.value.code == "unknown_dialect"


@pytest.mark.parametrize("text", ["", " ", "\n\n", "。。。", "，", "🔥✅", "\u200b"])
def test_nothing_to_say_is_silent_and_not_unread(text: str) -> None:
    reading = read(text)
    assert reading.is_silent
    assert not reading.unread
    assert not reading.units


@pytest.mark.parametrize("text", ["㈱", "㍿", "㋀", "\ufffd"])
def test_a_word_in_one_character_or_a_lost_one_is_unread(text: str) -> None:
    for asked in (text, f"好{text}"):
        assert [gap.text for gap in read(asked).unread] == [text]
    assert not read("热卖🔥㊗️★™").unread


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\ufeff", "\xad", "\x00"])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text", ["每斤9.9元", "¥9.9", "2024年5月1日", "第12桌", "9:30开门"]
)
def test_what_nobody_sees_never_parts_a_price(
    text: str, dialect: str, hidden: str
) -> None:
    plain = read(text, dialect)
    for place in range(len(text) + 1):
        reading = read(text[:place] + hidden + text[place:], dialect)
        check_promises(reading)
        assert (reading.spoken, reading.surface) == (plain.spoken, plain.surface)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "price", ["9 .9", "9\u3000 .9", "9️⃣.9️⃣", "9⃣.9", "9·9", "9•9", "９ ．９"]
)
@pytest.mark.parametrize("around", ["每斤{}元", "{}块", "原价19.9元，现价{}元/斤"])
def test_a_price_keeps_its_point_however_it_is_typed(
    around: str, price: str, dialect: str
) -> None:
    reading = read(around.format(price), dialect)
    check_promises(reading)
    assert reading.surface == read(around.format("9.9"), dialect).surface


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("9·9大促", "九九大促"),
        ("3️⃣2️⃣1️⃣开抢", "三二一开抢"),
        ("¥9·9起", "九点九元起"),
    ],
)
def test_a_dot_or_a_key_elsewhere_is_no_point(text: str, spoken: str) -> None:
    assert read(text).spoken == spoken


@pytest.mark.parametrize("text", ["𠮷", "\ud800", "한국", "ไทย", "Привет"])
def test_a_script_nobody_reads_is_unread(text: str) -> None:
    reading = read(f"好{text}")
    assert "".join(gap.text for gap in reading.unread) == text


def test_the_longest_text_is_read_whole() -> None:
    reading = read("今日特价，" * (MAX_CHARACTERS // 5))
    assert len(reading.syllables) == MAX_CHARACTERS // 5 * 4


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_character_that_can_be_read_can_be_voiced(dialect: str) -> None:
    every = [*range(0x3400, 0xA000), *range(0xF900, 0xFB00), *range(0x20000, 0x2B000)]
    for start in range(0, len(every), 500):
        text = "儿，".join(map(chr, every[start : start + 500]))
        check_promises(read(text, dialect))
