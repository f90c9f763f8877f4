"""The walk from symbols to sound, with the pack that ships."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from common.errors import YaoheError
from common.text import read
from common.text.symbols import BREAK, IDS, Symbol
from common.voice import stretch
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from common.voice.walk import FRAME_MS, Style, speak

TEXT = "请二十三号顾客到三号窗口取餐，谢谢。"
TEXTS = (TEXT, "欢迎光临，请里面坐。", "营业时间为上午九点至晚上九点半。")


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    return Speaker(load_pack(starter_directory(), trusted=True))


def _sound(
    speaker: Speaker, symbols: tuple[Symbol, ...], **how: float
) -> NDArray[np.float32]:
    chunks = speaker.speak(symbols, voice="woman", **how)  # type: ignore[arg-type]
    return np.concatenate(list(chunks))


def _seconds(sound: NDArray[np.float32]) -> float:
    return len(sound) / 24_000


def _hertz(sound: NDArray[np.float32]) -> float:
    """The middle one of the pitches of all loud frames of 50 ms."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, 1200)[::240]
    power = np.square(frames).mean(axis=1)
    spectra = np.abs(np.fft.rfft(frames[power > power.max() / 10], 4096)) ** 2
    lags = np.fft.irfft(spectra)[:, :400] / (1 - np.arange(400) / 1200)
    # A whole number of periods fits as well as one: the shortest good fit is meant.
    fits = lags[:, 48:] > 0.85 * lags[:, 48:].max(axis=1, keepdims=True)
    return 24_000 / float(np.median(48 + fits.argmax(axis=1)))


@pytest.mark.parametrize("chunks", [(1, 1), (7, 13), (100_000, 1)])
def test_the_sound_does_not_depend_on_where_it_was_cut(
    speaker: Speaker, chunks: tuple[int, int]
) -> None:
    symbols = read(TEXT).symbols
    whole = _sound(speaker, symbols)
    networks = speaker._networks
    cut = np.concatenate(list(speak(networks, symbols, Style(0), chunks=chunks)))
    assert len(cut) == len(whole)
    assert np.abs(cut - whole).max() <= 1e-4
    assert np.abs(whole).max() > 0.05


@pytest.mark.parametrize("speed", [0.25, 1.5, 4.0])
def test_stretched_sound_does_not_depend_on_where_it_was_cut(
    speaker: Speaker, speed: float
) -> None:
    symbols, networks = read("欢迎光临，谢谢。").symbols, speaker.networks
    style = Style(0, speed=speed)
    whole, *cut = (
        np.concatenate(list(speak(networks, symbols, style, chunks=chunks)))
        for chunks in ((100_000, 1), (1, 7), (24, 13))
    )
    assert np.abs(whole).max() > 0.05
    for parts in cut:
        assert len(parts) == len(whole)
        assert np.abs(parts - whole).max() <= 1e-4


def test_fast_speech_keeps_the_sounds_of_the_own_pace(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spectrum(text: str, speed: float) -> NDArray[np.float64]:
        sound = _sound(speaker, read(text).symbols, speed=speed)
        frames = np.lib.stride_tricks.sliding_window_view(sound, 600)[::300]
        power = np.abs(np.fft.rfft(frames * np.hanning(600))) ** 2
        bands: NDArray[np.float64] = power.mean(axis=0).reshape(-1, 7).mean(axis=1)
        return 10 * np.log10(bands)

    def apart() -> float:
        """Decibels between both speeds, mean over bands and sentences."""
        gaps = [np.abs(spectrum(text, 1.0) - spectrum(text, 2.0)) for text in TEXTS]
        return float(np.mean(gaps))

    compressed = apart()
    monkeypatch.setattr(stretch, "KNOWN_SPEEDS", (0.5, 2.0))
    assert compressed < 0.7 * apart()


@pytest.mark.parametrize("how", [{"pitch": -48.0}, {"pitch": 48.0}, {"speed": 0.25}])
def test_extreme_edits_stay_finite(speaker: Speaker, how: dict[str, float]) -> None:
    sound = _sound(speaker, read("欢迎光临").symbols, **how)
    assert np.isfinite(sound).all()
    assert 0.01 < np.abs(sound).max() <= 1.0


def test_the_same_text_sounds_the_same_bit_for_bit(speaker: Speaker) -> None:
    symbols = read(TEXT).symbols
    first = _sound(speaker, symbols)
    assert all(np.array_equal(first, _sound(speaker, symbols)) for _ in range(9))


def test_the_first_chunk_comes_before_the_sentence_is_made(speaker: Speaker) -> None:
    chunks = speaker.speak(read(TEXT).symbols, voice="woman")
    assert _seconds(next(chunks)) == pytest.approx(0.3)


def test_speed_changes_the_length(speaker: Speaker) -> None:
    symbols = read(TEXT).symbols
    slow, own, fast = (_seconds(_sound(speaker, symbols, speed=s)) for s in (0.5, 1, 2))
    assert slow > 1.8 * own
    assert fast < 0.6 * own


def test_pitch_raises_the_voice(speaker: Speaker) -> None:
    symbols = read("妈妈喝茶").symbols
    low = _hertz(_sound(speaker, symbols, pitch=-5))
    high = _hertz(_sound(speaker, symbols, pitch=5))
    assert 1.5 < high / low < 2.0


def test_volume_is_in_decibels(speaker: Speaker) -> None:
    symbols = read("欢迎光临").symbols
    own, quiet = _sound(speaker, symbols), _sound(speaker, symbols, volume=-6.0)
    assert np.abs(quiet).max() == pytest.approx(np.abs(own).max() / 1.995, rel=0.01)


def test_a_break_is_silence_of_its_length(speaker: Speaker) -> None:
    symbols = list(read("欢迎光临").symbols)
    middle = len(symbols) // 2
    paused = (*symbols[:middle], Symbol(IDS[BREAK], ms=1000), *symbols[middle:])
    sound = _sound(speaker, paused)
    is_quiet = np.abs(sound) < 1e-3
    edges = np.flatnonzero(np.diff(np.pad(is_quiet, 1).astype(int)))
    longest = float((edges[1::2] - edges[::2]).max()) / 24
    assert longest >= 1000 - 4 * FRAME_MS


def test_a_long_text_is_spoken_to_its_last_clause(speaker: Speaker) -> None:
    clause = "今日特价草莓每斤九块九"
    once = _seconds(_sound(speaker, read(clause).symbols))
    many = _seconds(_sound(speaker, read("，".join([clause] * 40)).symbols))
    assert many > 35 * once


def test_nothing_to_say_gives_no_sound(speaker: Speaker) -> None:
    assert list(speaker.speak(read("").symbols, voice="woman")) == []


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"voice": "nobody"}, "unknown_voice"),
        ({"voice": "woman", "dialect": "xx"}, "unknown_dialect"),
        ({"voice": "woman", "speed": 9.0}, "invalid_request"),
    ],
)
def test_what_the_pack_cannot_do_is_refused_at_once(
    speaker: Speaker, how: dict[str, str], code: str
) -> None:
    with pytest.raises(YaoheError) as refused:
        speaker.speak(read("好").symbols, **how)  # type: ignore[arg-type]
    assert refused.value.code == code
