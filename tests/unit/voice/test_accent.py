"""A dialect's table: what the weights are given for what a reading says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from common.protocol.contours import Dialect
from common.text import read
from common.text.contours import contour, tone_of
from common.text.symbols import DIALECTS, IDS, PAUSES, Symbol
from common.voice.accent import Accent, phrases_of

FLAT: dict[str, Any] = {str(tone): {"anywhere": [30, 30, 30]} for tone in range(1, 7)}


def accent(dialect: str, **table: Any) -> Accent:
    return Accent(dialect, Dialect.model_validate({"tones": FLAT} | table))


def shapes(symbols: tuple[Symbol, ...], dialect: str) -> list[list[tuple[int, ...]]]:
    """The contour of each syllable of each phrase."""
    return [
        [tuple(symbols[s.begin][1:4]) for s in phrase]
        for phrase in phrases_of(symbols, dialect)
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "今日特价，新鲜草莓每斤9.9元，买一送一。",
        "请A023号顾客到3号窗口取餐。",
        "妈妈骂马吗？花儿、花儿。",
        "爱爱爱一一一，安安，五五五。",
        "十月十日十点十分，吉日出发，白鹤落叶。",
        "Wi-Fi密码是ABC123，会员VIP八五折",
    ],
)
def test_every_syllable_of_a_reading_is_found(text: str, dialect: str) -> None:
    reading = read(text, dialect)
    found = phrases_of(reading.symbols, dialect)
    tones = [s.tone for phrase in found for s in phrase if s.tone]
    spoken = [u for u in reading.units if not u.is_pause and u.language == dialect]
    assert tones == [int(unit.value[-1]) for unit in spoken]


def test_each_contour_names_one_tone_of_one_dialect() -> None:
    tones = {"zh": 4, "gd": 6, "sc": 4}
    named: dict[tuple[int, int, int], str] = {}
    for dialect, count in tones.items():
        for tone in range(1, count + 1):
            shape, _ = contour(dialect, tone)
            assert tone_of(dialect, shape) == tone
            assert named.setdefault(shape, dialect) == dialect
    for before in range(6):
        assert tone_of("zh", contour("zh", 5, before)[0]) == 5
    assert tone_of("sc", contour("sc", 5)[0]) == 5
    assert tone_of("gd", contour("zh", 4)[0]) == 0


def test_tones_differ_by_their_place_in_the_phrase() -> None:
    tone = {
        "anywhere": [30, 30, 30],
        "first": [31, 31, 31],
        "last": [29, 29, 29],
        "after": {"2": [40, 40, 40]},
    }
    said = accent("sc", tones={"1": tone, "2": FLAT["2"]}).spoken(
        read("天天天天，天人天天。", "sc").symbols
    )
    low, here, high = (29, 29, 29), (30, 30, 30), (31, 31, 31)
    assert shapes(said, "sc") == [
        [high, here, here, low],
        [high, here, (40, 40, 40), low],
    ]


def test_the_one_syllable_of_a_phrase_is_its_last() -> None:
    tone = {"anywhere": [30] * 3, "first": [31] * 3, "last": [29] * 3}
    said = accent("gd", tones={"1": tone}).spoken(read("天", "gd").symbols)
    assert shapes(said, "gd") == [[(29, 29, 29)]]


def test_only_segments_of_the_table_are_replaced_and_none_moves() -> None:
    symbols = read("女人一起讨论，你和我。", "sc").symbols
    said = accent("sc", segments={"ɲ": "n"}).spoken(symbols)
    assert len(said) == len(symbols)
    changed = {
        (a.name, b.name) for a, b in zip(symbols, said, strict=True) if a.id != b.id
    }
    assert changed == {("ɲ", "n")}


def test_checked_syllables_get_their_pace_and_keep_a_persons() -> None:
    symbols = tuple(s._replace(speed=1500) for s in read("十蚊。", "gd").symbols)
    said = accent("gd", checked=1200).spoken(symbols)
    paces = {s.name: s.speed for s in said if s.has_tone}
    assert paces["-p"] == 1800
    assert paces["-n"] == 1500


def test_words_of_other_languages_and_pauses_stay_as_they_are() -> None:
    symbols = read("VIP会员，OK？", "sc").symbols
    said = accent("sc").spoken(symbols)
    for before, after in zip(symbols, said, strict=True):
        assert (before == after) != before.has_tone


def test_the_rest_of_a_reading_sounds_as_it_does_in_the_whole() -> None:
    tone = {"anywhere": [30] * 3, "first": [31] * 3, "after": {"2": [40] * 3}}
    table = accent("sc", tones={**FLAT, "1": tone})
    symbols = read("天天开心，人天地，今天高兴。", "sc").symbols
    whole = table.spoken(symbols)
    for at, symbol in enumerate(symbols):
        if symbol.name in PAUSES:
            assert table.spoken(symbols[at + 1 :]) == whole[at + 1 :]


def test_any_symbols_are_answered_with_as_many() -> None:
    dice = random.Random(7)
    known = [contour(d, t)[0] for d in DIALECTS for t in range(1, 5)] + [(0, 0, 0)]
    for _ in range(500):
        symbols = [
            Symbol(dice.choice(list(IDS.values())), *dice.choice(known), 2)
            for _ in range(dice.randint(0, 20))
        ]
        dialect = dice.choice(DIALECTS)
        assert len(accent(dialect).spoken(symbols)) == len(symbols)
