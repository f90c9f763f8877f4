from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from common.audio.pcm import (
    SAMPLE_RATE,
    SILENCE_DB,
    Pcm,
    from_s16,
    loudness,
    peak_safe,
    rms_dbfs,
    to_s16,
)


def sine(hertz: float, seconds: float = 3.0) -> Pcm:
    at = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return np.sin(2 * np.pi * hertz * at).astype(np.float32)


def test_every_16_bit_value_survives_the_round_trip() -> None:
    data = np.arange(-32768, 32768).astype("<i2").tobytes()
    assert to_s16(from_s16(data)) == data


def test_too_loud_clips_and_does_not_wrap() -> None:
    pcm = np.array([1.0, 1.5, -1.0, -7.0], dtype=np.float32)
    assert np.frombuffer(to_s16(pcm), "<i2").tolist() == [32767, 32767, -32768, -32768]


def test_what_is_no_number_is_silence() -> None:
    pcm = np.array([np.nan, np.inf, -np.inf], dtype=np.float32)
    assert np.frombuffer(to_s16(pcm), "<i2").tolist() == [0, 32767, -32768]


def test_an_odd_last_byte_is_left_out() -> None:
    assert from_s16(b"\x00\x40\x01").tolist() == [0.5]


def test_peak_safe_turns_down_only_what_clips(sound: Callable[[int], Pcm]) -> None:
    quiet = sound(2400)
    assert peak_safe(quiet) is quiet
    loud = peak_safe(quiet * np.float32(20))
    assert np.max(np.abs(loud)) == pytest.approx(0.985, abs=1e-5)
    assert loud.dtype == np.float32


def test_peak_safe_takes_an_empty_sound() -> None:
    assert peak_safe(np.zeros(0, np.float32)).size == 0


def test_a_full_scale_sine_measures_as_the_standard_says() -> None:
    assert rms_dbfs(sine(997)) == pytest.approx(-3.01, abs=0.01)
    assert loudness(sine(997)) == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize(("hertz", "gain"), [(50, -4.67), (200, -0.99), (8000, 3.3)])
def test_loudness_weighs_frequencies_as_an_ear_does(hertz: float, gain: float) -> None:
    assert loudness(sine(hertz)) == pytest.approx(-3.01 + gain, abs=0.15)


def test_loudness_does_not_count_the_pauses() -> None:
    pcm = sine(997)
    paused = np.concatenate((pcm, np.zeros(5 * SAMPLE_RATE, np.float32), pcm))
    assert rms_dbfs(paused) < rms_dbfs(pcm) - 2
    assert loudness(paused) == pytest.approx(loudness(pcm), abs=0.3)


@pytest.mark.parametrize("samples", [0, 1, 100, SAMPLE_RATE])
def test_silence_has_a_finite_loudness(samples: int) -> None:
    pcm = np.zeros(samples, np.float32)
    assert loudness(pcm) == SILENCE_DB
    assert rms_dbfs(pcm) == SILENCE_DB


def test_a_word_shorter_than_a_block_is_measured() -> None:
    assert loudness(sine(997, 0.1)) == pytest.approx(-3.01, abs=0.3)
