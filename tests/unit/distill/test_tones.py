"""Tones that are heard: found in a made pitch, and told apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from common.text import read
from common.text.symbols import PAUSES, Symbol
from common.voice.accent import phrases_of
from distill.evaluate import syllables, tones
from distill.evaluate.dialects import agreeing

SENTENCES = {
    "sc": (
        "今天的苹果特价，四块九一斤。",
        "请到二楼服务台换票。",
        "欢迎光临，请里面坐。",
    ),
    "gd": (
        "今日士多啤梨特價，十二蚊一盒。",
        "請到二樓服務台換飛。",
        "歡迎光臨，請隨便睇。",
    ),
}
SYMBOL_S = 0.08
STEP = 2.0


def spans_of(symbols: tuple[Symbol, ...]) -> NDArray[np.int64]:
    """Every symbol 80 ms."""
    ends = (np.arange(len(symbols)) + 1) * int(SYMBOL_S * 24_000)
    return np.stack([ends - int(SYMBOL_S * 24_000), ends], -1)


def sung(
    symbols: tuple[Symbol, ...], dialect: str, fall: float = 0.0, wrong: int = 0
) -> list[float]:
    """The pitch of a voice that hits every target, falls, and errs on one tone."""
    curve = np.zeros(int(len(symbols) * SYMBOL_S * 100) + 1)
    for phrase in phrases_of(symbols, dialect):
        begins = phrase[0].begin * SYMBOL_S
        for each in phrase:
            if each.tone not in syllables.FULL_TONES[dialect]:
                continue
            first = round(each.begin * SYMBOL_S * 100)
            last = round(each.end * SYMBOL_S * 100)
            where = np.linspace(0, 1, last - first)
            said = 1 if each.tone == wrong else each.tone
            levels = np.interp(where, syllables.POINTS, tones.target(dialect, said))
            seconds = np.arange(first, last) / 100 - begins
            curve[first:last] = 200 * 2 ** ((STEP * levels + fall * seconds) / 12)
    return [float(value) for value in curve]


def heard(dialect: str, fall: float = 0.0, wrong: int = 0) -> tones.Heard:
    said: list[syllables.Spoken] = []
    for text in SENTENCES[dialect]:
        symbols = read(text, dialect).symbols
        hz = sung(symbols, dialect, fall, wrong)
        said += syllables.spoken(symbols, spans_of(symbols), hz, dialect)
    return tones.heard(said, dialect)


@pytest.mark.parametrize("dialect", ["sc", "gd"])
@pytest.mark.parametrize("fall", [0.0, -3.0])
def test_a_voice_that_hits_every_target_is_found_to(dialect: str, fall: float) -> None:
    found = heard(dialect, fall)
    assert tones.correlation(found) > 0.98
    assert tones.told_apart(found)["nearest_target"] > 0.95
    assert found.step == pytest.approx(STEP, abs=0.2)
    assert found.fall == pytest.approx(fall, abs=0.4)
    assert found.unjudged == 0


def test_a_tone_that_sounds_like_another_is_confused_with_it() -> None:
    found = heard("sc", wrong=4)
    told = tones.told_apart(found)
    assert told["nearest_target"] < 0.85
    assert told["confusions"]["4"]["1"] > 0
    assert tones.correlation(found) < 0.9


def test_a_monotone_voice_has_no_tones() -> None:
    said: list[syllables.Spoken] = []
    random = np.random.default_rng(1)
    for text in SENTENCES["sc"]:
        symbols = read(text, "sc").symbols
        hz = [200 * 2 ** (random.normal() / 24) for _ in range(len(symbols) * 8)]
        said += syllables.spoken(symbols, spans_of(symbols), hz, "sc")
    assert abs(tones.correlation(tones.heard(said, "sc"))) < 0.4


def test_syllables_without_voice_are_not_judged() -> None:
    symbols = read("欢迎光临。", "sc").symbols
    said = syllables.spoken(symbols, spans_of(symbols), [0.0] * 200, "sc")
    assert [each.points.size for each in said] == [0, 0, 0, 0]
    assert [each.place for each in said] == ["first", "inside", "inside", "last"]


def test_an_octave_error_of_the_tracker_is_left_out() -> None:
    symbols = read("欢迎光临欢迎光临。", "sc").symbols
    hz = sung(symbols, "sc")
    third = phrases_of(symbols, "sc")[0][2]
    first, last = (round(at * SYMBOL_S * 100) for at in (third.begin, third.end))
    hz[first:last] = [4 * value for value in hz[first:last]]
    said = syllables.spoken(symbols, spans_of(symbols), hz, "sc")
    found = tones.heard(said, "sc")
    assert (found.unjudged, len(found.syllables)) == (1, 7)


def test_a_tone_is_drawn_with_its_places_and_a_copy_has_no_variation() -> None:
    found = heard("gd")
    lines = tones.drawn(found)
    assert set(lines) <= set("123456")
    assert lines["1"]["spoken"] == pytest.approx(lines["1"]["target"], abs=0.4)
    assert tones.variation(found, lines)["spread"] < 0.4
    assert tones.variation(found, lines)["range"] > 4


def test_checked_syllables_are_measured_inside_phrases() -> None:
    symbols = read("十二蚊一盒十二蚊一盒。", "gd").symbols
    spans = spans_of(symbols)
    said = syllables.spoken(symbols, spans, [200.0] * 500, "gd")
    found = syllables.checked(said)
    # 十 一 盒 十 一 are checked and not last.
    assert found["syllables"] == 5
    assert found["ratio"] == pytest.approx(
        found["checked_ms"] / found["others_ms"], abs=1e-2
    )
    assert syllables.checked([]) == {}


def test_words_agree_where_all_their_segments_do() -> None:
    # 超市 is cao1 si4 in Chengdu; 特价 has another tone and the same segments.
    assert agreeing("特价超市。") == [True, True, False, False]
    assert agreeing("今天买一送一。") == [True] * 6
    assert agreeing("请下载APP。") is None


def test_no_pause_is_a_syllable() -> None:
    symbols = read("欢迎，光临。", "sc").symbols
    for phrase in phrases_of(symbols, "sc"):
        for each in phrase:
            names = {symbol.name for symbol in symbols[each.begin : each.end]}
            assert not names & PAUSES
