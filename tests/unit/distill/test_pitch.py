"""The pitch of sounds whose pitch is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.voice.source import pulse_train
from distill.corpus.pitch import HOP, pitch

FRAMES = 120


def voiced(hertz: NDArray[Any]) -> NDArray[Any]:
    """Pulses at a pitch, dull as a voice is."""
    sound = pulse_train(hertz.astype(np.float32), np.ones(len(hertz), np.float32))
    dull = np.exp(-np.arange(64) / 12)
    return np.convolve(sound, dull, "same").astype(np.float32)


def semitones(found: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    inner = slice(4, -4)
    both: NDArray[Any] = 12 * np.log2(found[inner] / wanted[inner])
    return both


@pytest.mark.parametrize("hertz", [80, 130, 220, 330, 480])
def test_a_level_pitch_is_found_to_a_tenth_of_a_semitone(hertz: int) -> None:
    wanted = np.full(FRAMES, float(hertz))
    found = pitch(voiced(wanted))
    assert len(found) == FRAMES
    assert (found > 0).all()
    assert np.abs(semitones(found, wanted)).max() < 0.1


def test_a_tone_that_falls_an_octave_is_followed() -> None:
    wanted = np.geomspace(320, 160, FRAMES)
    found = pitch(voiced(wanted))
    assert np.abs(semitones(found, wanted)).max() < 0.5


def test_noise_and_silence_have_no_pitch() -> None:
    noise = np.random.default_rng(1).standard_normal(FRAMES * HOP).astype(np.float32)
    assert (pitch(0.1 * noise) > 0).mean() < 0.05
    assert not pitch(np.zeros(FRAMES * HOP, np.float32)).any()


def test_a_voice_begins_and_ends_where_it_does() -> None:
    sound = voiced(np.full(FRAMES, 200.0))
    hush = np.random.default_rng(2).standard_normal(40 * HOP).astype(np.float32)
    found = pitch(np.concatenate([0.01 * hush, sound, 0.01 * hush])) > 0
    begin, end = np.flatnonzero(found)[[0, -1]]
    assert abs(int(begin) - 40) <= 2
    assert abs(int(end) - (40 + FRAMES - 1)) <= 2
    assert found[45 : 40 + FRAMES - 5].all()


def test_a_hum_below_the_voice_does_not_hide_it() -> None:
    time = np.arange(FRAMES * HOP) / SAMPLE_RATE
    hum = 0.05 * np.sin(2 * np.pi * 50 * time)
    wanted = np.full(FRAMES, 210.0)
    found = pitch((voiced(wanted) + hum).astype(np.float32))
    assert np.abs(semitones(found, wanted)).max() < 0.3
