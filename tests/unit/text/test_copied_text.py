"""Text as it comes: copied from a web page, typed with the wrong point."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.text import read
from tests.tools.reading import check_promises


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("9。9元", "九点九元"),
        ("草莓9。90元一斤", "草莓九点九零元一斤"),
        ("8。5折", "八点五折"),
        ("九.九元", "九点九元"),
        ("九·九元", "九点九元"),
        ("十二.五元", "十二点五元"),
        ("现价9·9", "现价九点九"),
        ("特价：9·9", "特价：九点九"),
        ("仅需19•9", "仅需十九点九"),
        ("9·9折", "九点九折"),
    ],
)
def test_a_wrong_point_is_still_the_point_of_a_price(text: str, spoken: str) -> None:
    reading = read(text)
    assert reading.spoken == spoken
    assert not reading.unread


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("原价19.9元。9元起", "原价十九点九元。九元起"),
        ("请到305。9点开门", "请到三百零五。九点开门"),
        ("满2024。9元特价", "满两千零二十四。九元特价"),
        ("五·一", "五一"),
        ("三·八妇女节", "三八妇女节"),
        ("12·12", "双十二"),
        ("一.今日特价", "一。今日特价"),
        ("周一。九折", "周一。九折"),
        ("周一.九折", "周一。九折"),
        ("满十。九元起", "满十。九元起"),
    ],
)
def test_a_stop_between_two_things_stays_a_stop(text: str, spoken: str) -> None:
    assert read(text).spoken == spoken


@pytest.mark.parametrize("ssml", [False, True])
@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("A&amp;B", "A and B"),
        ("买一&nbsp;送一", "买一送一"),
        ("&lt;5元", "小于五元"),
        ("&quot;特价&quot;", "特价"),
        ("&#20320;&#x597d;", "你好"),
        ("&yen;9.9", "九点九元"),
        ("9&#46;9元", "九点九元"),
        ("买一&amp;nbsp;送一", "买一送一"),
        ("&hearts;好&#8203;好", "好好"),
        ("R&B，T&C;", "R and B，T and C"),
    ],
)
def test_an_entity_is_its_character(text: str, spoken: str, ssml: bool) -> None:
    reading = read(text, ssml=ssml)
    assert reading.spoken == spoken
    assert not reading.unread
    check_promises(reading)


@pytest.mark.parametrize("gap", ["&shy;", "&#8203;", "&nbsp;", "&#1;", "&shy;&shy;"])
@pytest.mark.parametrize("ssml", [False, True])
def test_an_entity_never_parts_a_price_in_silence(gap: str, ssml: bool) -> None:
    assert read(f"9{gap}.9元", ssml=ssml).unread


@pytest.mark.parametrize("entity", ["&#0;", "&#xD800;", "&#x110000;"])
def test_an_entity_of_no_character_is_unread(entity: str) -> None:
    assert [unread.text for unread in read(f"好{entity}").unread] == [entity]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            (
                *("&amp;", "&nbsp;", "&lt;", "&#20320;", "&shy;", "&#46;", "&yen;"),
                *("&x;", "&", ";", "amp;", "9", ".9", "元", "好", "{行|hang2}", "。"),
                "<b>",
            )
        ),
        max_size=12,
    ).map("".join),
    st.booleans(),
)
def test_every_character_of_an_escaped_text_is_in_one_span(
    text: str, ssml: bool
) -> None:
    reading = read(text, ssml=ssml)
    assert "".join(span.text for span in reading.spans) == text


@pytest.mark.parametrize("sign", list("∑∏∫∂∈∀∃∅∠∝"))
def test_a_sign_of_mathematics_is_named(sign: str) -> None:
    reading = read(f"a{sign}b")
    assert not reading.unread
    assert len(reading.syllables) > len(read("a b").syllables)


@pytest.mark.parametrize("sign", list("⊕∇≺⊢∮"))
def test_a_sign_of_mathematics_without_a_name_is_unread(sign: str) -> None:
    assert [unread.text for unread in read(f"好{sign}好").unread] == [sign]


@pytest.mark.parametrize("sign", list("∙⋆∗★→"))
def test_an_ornament_is_silent(sign: str) -> None:
    reading = read(f"好{sign}好")
    assert (reading.spoken, reading.unread) == ("好好", ())
