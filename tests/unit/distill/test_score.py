"""Syllable error: equal is what sounds equal, and nothing else."""

from __future__ import annotations

import pytest

from distill.judge.score import (
    Score,
    distance,
    score,
    syllables_of,
    total,
    understood,
    word_score,
)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("今日特价。", "今日特价"),
        ("今日特价。", "金日特价"),  # the same sound
        ("会员价128元", "会员价一百二十八元"),
        ("请A023号顾客取餐", "请A零二三号顾客取餐"),
        ("订餐热线4008208820", "订餐热线4008208820"),
        ("验证码一二三四五六", "验证码123456"),
        ("两杯", "二杯"),
        ("歡迎光臨", "欢迎光临"),
        ("这儿", "这"),
        ("", ""),
    ],
)
def test_what_sounds_the_same_has_no_error(text: str, heard: str) -> None:
    assert score(text, heard).errors == 0


@pytest.mark.parametrize(
    ("text", "heard", "errors"),
    [
        ("今日特价", "明日特价", 1),
        ("今日特价", "今日", 2),
        ("今日特价", "今日大特价", 1),
        ("今日特价", "", 4),
        ("九块九", "九块八", 1),
        ("一百二十八", "129", 1),
    ],
)
def test_what_sounds_different_is_counted(text: str, heard: str, errors: int) -> None:
    assert score(text, heard).errors == errors


def test_each_run_of_digits_is_read_the_way_that_fits() -> None:
    text = "房间号二零三四，一共二千零三十四元"
    assert score(text, "房间号2034，一共2034元").errors == 0


def test_syllables_have_no_tone_and_no_erhua() -> None:
    assert syllables_of("一点儿绿茶") == ("yi", "dian", "lv", "cha")
    assert syllables_of("儿子") == ("er", "zi")


def test_distance_counts_the_fewest_edits() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("", "abc") == 3
    assert distance("abc", "") == 3


def test_totals_weigh_by_syllables() -> None:
    assert total([Score(1, 10), Score(0, 90)]).rate == 0.01
    assert total([]).rate == 0.0


@pytest.mark.parametrize(
    ("text", "heard", "answers"),
    [
        ("今日特价", "今日特价", [True] * 4),
        ("今日特价", "今天特价", [True, False, True, True]),
        ("今日特价", "今特价", [True, False, True, True]),
        ("今日特价", "今日大特价", [True] * 4),
        ("今日特价", "", [False] * 4),
    ],
)
def test_each_syllable_is_understood_or_not(
    text: str, heard: str, answers: list[bool]
) -> None:
    found = understood(text, heard)
    assert len(found) == len(syllables_of(text))
    assert found == answers
    assert found.count(False) <= score(text, heard).errors


def test_letters_of_a_number_are_no_english_word() -> None:
    assert word_score("请A023号到B座", "请到").syllables == 0
    assert word_score("iPhone和VIP", "iphone和vip").errors == 0
    assert word_score("Check in请到前台", "请到前台").errors == 2
