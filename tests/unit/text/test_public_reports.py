"""Faults that users reported on comparable systems, tried on this reader."""

from __future__ import annotations

import pytest

from common.text import read


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("今年4月15日开业", "今年四月十五日开业"),
        ("现在是19点17", "现在是十九点十七"),
        ("满100减20（限今日）", "满一百减二十，限今日"),
        ("请拨13882366638对吗", "请拨幺三八八二三六六六三八对吗"),
        ("有500、1000两档", "有五百、一千两档"),
        ("￥500、￥1000", "五百元、一千元"),
        ("积分100倍", "积分一百倍"),
        ("A-3区", "A三区"),
        ("八块五", "八块五"),
        ("￥0.85", "零点八五元"),
        ("3.9元/斤", "三点九元每斤"),
        ("0595-23865596", "零五九五二三八六五五九六"),
        ("3,123.20元", "三千一百二十三点二零元"),
        ("订单12345678", "订单一二三四五六七八"),
        ("500ml*12/箱", "五百毫升乘十二每箱"),
        ("≤25℃", "小于等于二十五摄氏度"),
        ("立减15%", "立减百分之十五"),
        ("3/4", "四分之三"),
        ("共3,497件", "共三千四百九十七件"),
        ("Gate 705 closes at 9", "Gate seven zero five closes at nine"),
        ("约10%", "约百分之十"),
        ("5-8折", "五到八折"),
        ("-5元", "负五元"),
        ("草莓-9.9元", "草莓，九点九元"),
        (".5折", "零点五折"),
        ("3，000元", "三千元"),
    ],
)
def test_numbers_are_said_right(text: str, spoken: str) -> None:
    reading = read(text)
    assert reading.spoken == spoken
    assert not reading.unread


@pytest.mark.parametrize("text", ["昊博HT和SUV", "UPS电源A12", "在KFC里买iPhone16"])
def test_letters_inside_chinese_are_spoken(text: str) -> None:
    reading = read(text)
    assert any(syllable[0].isupper() for syllable in reading.syllables)
    assert not reading.unread


def test_words_in_capitals_are_words() -> None:
    assert read("AN IMAGE").syllables == read("an image").syllables


@pytest.mark.parametrize("token", ["[uv_break]", "[laugh]", "[oral_2]", "[Stts]"])
def test_a_control_token_is_never_spoken(token: str) -> None:
    reading = read(f"你好{token}再见")
    assert reading.spoken == "你好再见"
    assert [s.rule for s in reading.spans if s.text == token] == [
        "silent.control_token"
    ]


def test_newlines_and_quotes_are_not_spoken() -> None:
    assert read("“新品”\n上市？").spoken == "新品，上市？"


def test_emoji_are_silent_by_rule() -> None:
    reading = read("🔥爆款✅")
    assert reading.spoken == "爆款"
    assert reading.spans[0].rule == reading.spans[-1].rule == "silent.emoji"


@pytest.mark.parametrize("length", [400, 600, 25_000])
def test_the_tail_of_a_long_text_is_kept(length: int) -> None:
    text = "恭喜发财" * (length // 4) + "再见"
    assert read(text).surface[-2:] == ("zai4", "jian4")


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("-20~-10℃", "零下二十到零下十摄氏度"),
        ("-3~5℃", "零下三到零上五摄氏度"),
        ("气温 -5℃", "气温零下五摄氏度"),
        ("-10%", "负百分之十"),
        ("↓10%", "下降百分之十"),
        ("1折-3折", "一折到三折"),
        ("100元/50元", "一百元、五十元"),
        ("99元生日", "九十九元生日"),
        ("9.9爆款", "九点九爆款"),
        ("6.18大促", "六一八大促"),
        ("请101 102号", "请一百零一、一百零二号"),
    ],
)
def test_a_sign_never_changes_its_meaning(text: str, spoken: str) -> None:
    assert read(text).spoken == spoken
