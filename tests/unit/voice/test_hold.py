"""A dialect's tones held to their contours."""

from __future__ import annotations

import numpy as np
import pytest

from common.protocol.contours import Scale
from common.text import read
from common.text.contours import contour
from common.voice.accent import Syllable, phrases_of
from common.voice.hold import KNOTS, Floats, hold
from common.voice.pack import load_pack, starter_directory
from common.voice.source import HOP, SAMPLE_RATE
from common.voice.speak import Speaker
from common.voice.walk import Style, plan

TEXT = "今日特价，新鲜草莓买一送一。"
SYMBOLS = read(TEXT, "sc").symbols
COUNTS = np.full(len(SYMBOLS), 6)
FRAMES = int(COUNTS.sum())
LINE = Scale(middle=120, step=180, fall=-100, drop=-60, hold=1000)


def held(scale: Scale, octaves: Floats, voiced: Floats) -> Floats:
    return hold(SYMBOLS, "sc", COUNTS, octaves, voiced, scale)


def syllables() -> list[tuple[int, int, Syllable]]:
    """Each syllable with the number of its phrase and the phrase's first symbol."""
    return [
        (number, phrase[0].begin, syllable)
        for number, phrase in enumerate(phrases_of(SYMBOLS, "sc"))
        for syllable in phrase
    ]


def test_who_is_held_entirely_sings_the_line() -> None:
    voiced = np.ones(FRAMES, np.float32)
    tune = held(LINE, np.zeros(FRAMES, np.float32), voiced)
    off = []
    for number, opening, each in syllables():
        first, last = each.begin * 6, each.end * 6
        at = first + np.array(KNOTS[:3]) * (last - first - 1)
        into = ((first + last) / 2 - opening * 6) * HOP / SAMPLE_RATE
        levels = np.array(contour("sc", each.tone)[0]) / 10
        wanted = 120 + 180 * (levels - 3) - 100 * into - 60 * number
        off.append(np.interp(at, np.arange(FRAMES), tune) * 1200 - wanted)
    # Corners are rounded, so points are not met to the cent.
    assert np.sqrt(np.mean(np.square(off))) < 40


def test_a_share_goes_that_share_of_the_way() -> None:
    octaves = np.linspace(0.4, -0.4, FRAMES, dtype=np.float32)
    voiced = np.ones(FRAMES, np.float32)
    whole = held(LINE, octaves, voiced) - octaves
    part = held(LINE.model_copy(update={"hold": 250}), octaves, voiced) - octaves
    np.testing.assert_allclose(part, whole / 4, atol=1e-6)
    nothing = held(LINE.model_copy(update={"hold": 0}), octaves, voiced)
    np.testing.assert_array_equal(nothing, octaves)


def test_what_has_too_little_voice_follows_its_neighbours() -> None:
    voiced = np.ones(FRAMES, np.float32)
    _, _, silent = syllables()[1]
    voiced[silent.begin * 6 : silent.end * 6] = 0
    tune = held(LINE, np.zeros(FRAMES, np.float32), voiced)
    assert np.isfinite(tune).all()
    inside = tune[silent.begin * 6 + 2 : silent.end * 6 - 2]
    assert np.abs(np.diff(inside, 2)).max() < 1e-5


@pytest.mark.parametrize("text", ["", "，。", "OK", "Wi-Fi！", "啊"])
def test_any_sentence_can_be_held(text: str) -> None:
    symbols = read(text, "gd").symbols
    counts = np.full(len(symbols), 5)
    frames = int(counts.sum())
    for level in (0, 1):
        voiced = np.full(frames, level, np.float32)
        tune = hold(symbols, "gd", counts, np.zeros(frames, np.float32), voiced, LINE)
        assert tune.shape == (frames,)
        assert np.isfinite(tune).all()


def test_breaks_of_no_length_are_no_trouble() -> None:
    counts = np.zeros(len(SYMBOLS), np.int64)
    empty = np.zeros(0, np.float32)
    assert hold(SYMBOLS, "sc", counts, empty, empty, LINE).size == 0


def test_timing_and_silence_stay() -> None:
    woman = Speaker(load_pack(starter_directory(), trusted=True), provider="cpu")
    style = Style(0, "sc")
    free = plan(woman.networks, SYMBOLS, style)
    firm = plan(woman.networks, SYMBOLS, Style(0, "sc", scale=LINE))
    assert free.frames == firm.frames
    voiced = free.pitch[:, 1] > 0
    assert np.abs(free.pitch[voiced, 0] - firm.pitch[voiced, 0]).max() > 0.05
    for number in range(2):
        assert (free.pitch[~voiced, number] == firm.pitch[~voiced, number]).all()


def test_pitch_edits_lie_on_top() -> None:
    woman = Speaker(load_pack(starter_directory(), trusted=True), provider="cpu")
    low = plan(woman.networks, SYMBOLS, Style(0, "sc", scale=LINE))
    high = plan(woman.networks, SYMBOLS, Style(0, "sc", pitch=3.0, scale=LINE))
    voiced = low.pitch[:, 1] > 0
    apart = 12 * (high.pitch[voiced, 0] - low.pitch[voiced, 0])
    np.testing.assert_allclose(apart, 3.0, atol=1e-3)
