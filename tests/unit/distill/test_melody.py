import numpy as np
import pytest
from numpy.typing import NDArray

from common.text import read
from common.text.symbols import SYMBOLS, Symbol
from distill.corpus import melody
from distill.corpus.melody import Tune


def spelled(text: str, dialect: str = "zh") -> list[str]:
    symbols = read(text, dialect).symbols
    return [
        "".join(SYMBOLS[symbol.id] for symbol in symbols[each.first : each.last])
        for each in melody.syllables_of(symbols)
    ]


@pytest.mark.parametrize(
    ("text", "dialect", "wanted"),
    [
        ("欢迎光临", "zh", ["xwa-n", "i-ŋ", "kwa-ŋ", "li-n"]),
        ("西安，饿了", "zh", ["ɕi", "a-n", "ɤ", "lɤ"]),
        ("鱼二", "zh", ["y", "ɚ"]),
        ("唔该", "gd", ["m̩", "kɔ-i"]),
        ("A座", "zh", ["tswo"]),
    ],
)
def test_syllables_are_found_in_the_symbols(
    text: str, dialect: str, wanted: list[str]
) -> None:
    assert spelled(text, dialect) == wanted


def test_every_toned_symbol_lies_in_one_syllable() -> None:
    for dialect in ("zh", "sc", "gd"):
        symbols = read(
            "今日特价，新鲜草莓每斤9.9元，爱吃的阿姨请留意。", dialect
        ).symbols
        owned = [
            index
            for each in melody.syllables_of(symbols)
            for index in range(each.first, each.last)
        ]
        assert owned == [i for i, symbol in enumerate(symbols) if symbol.has_tone]


def sentence() -> tuple[tuple[Symbol, ...], NDArray[np.int64]]:
    symbols = read("新鲜草莓今日特价，欢迎光临。").symbols
    durations = np.random.default_rng(1).integers(4, 12, len(symbols))
    return symbols, durations.astype(np.int64)


def test_a_curve_passes_through_its_contours() -> None:
    symbols, durations = sentence()
    syllables = melody.syllables_of(symbols)
    levels = melody.levels_of(symbols, syllables)
    drawn = melody.curve(syllables, levels, durations)
    assert len(drawn) == durations.sum()
    ends = np.cumsum(durations)
    for each, shape in zip(syllables, levels, strict=True):
        begin = ends[each.rime] - durations[each.rime]
        middle = int((begin + ends[each.last - 1]) // 2)
        assert abs(drawn[middle] - shape[1]) < 0.35


def test_the_gain_of_a_level_is_measured() -> None:
    symbols, durations = sentence()
    syllables = melody.syllables_of(symbols)
    random = np.random.default_rng(2)
    known = melody.Melody((0.3, 0.25, 0.15))
    tunes = []
    for _ in range(30):
        levels = random.uniform(-1, 1, (len(syllables), 3))
        drawn = melody.curve(syllables, levels, durations)
        place = melody.places(syllables, durations)
        height, fall = random.normal(0, 0.2), random.normal(-0.3, 0.1)
        pitch = known.lift(drawn, place) + height + fall * place
        tunes.append(Tune(pitch, np.ones(len(pitch)), drawn, place))
    assert np.allclose(melody.fit(tunes).octaves, known.octaves, atol=0.04)


def test_contours_are_written_into_the_symbols() -> None:
    symbols, _ = sentence()
    syllables = melody.syllables_of(symbols)
    random = np.random.default_rng(3)
    for dialect in ("gd", "sc"):
        drawn = melody.draw_contours(symbols, syllables, dialect, random)
        changed = melody.with_contours(symbols, syllables, drawn)
        again = melody.levels_of(changed, syllables) * melody.SPAN + melody.LEVEL
        assert np.abs(again - drawn).max() <= 0.5
        assert [symbol.id for symbol in changed] == [symbol.id for symbol in symbols]
