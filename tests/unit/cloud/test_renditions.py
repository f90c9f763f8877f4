"""Finished sounds in memory."""

from __future__ import annotations

import numpy as np

from cloud.renditions import MAX_SHARE, Renditions
from common.audio.pcm import Pcm, to_s16


def sound(level: float, samples: int = 100) -> Pcm:
    return np.full(samples, level, np.float32)


def test_a_kept_sound_has_the_samples_that_were_streamed() -> None:
    kept = Renditions()
    pcm = np.linspace(-1, 1, 5000, dtype=np.float32)
    kept.keep("a", pcm)
    found = kept.find("a")
    assert found is not None
    assert to_s16(found) == to_s16(pcm)


def test_the_least_recently_wanted_leaves_first() -> None:
    kept = Renditions(max_bytes=200 * MAX_SHARE)
    for number in range(MAX_SHARE):
        kept.keep(number, sound(0.1))
    kept.find(0)
    kept.keep("new", sound(0.2))
    assert kept.find(0) is not None
    assert kept.find(1) is None
    assert kept.held_bytes == 200 * MAX_SHARE


def test_a_sound_kept_twice_counts_once() -> None:
    kept = Renditions()
    kept.keep("a", sound(0.1))
    kept.keep("a", sound(0.2, 50))
    assert kept.held_bytes == 100


def test_one_huge_sound_does_not_push_everything_out() -> None:
    kept = Renditions(max_bytes=200 * MAX_SHARE)
    kept.keep("a", sound(0.1))
    kept.keep("huge", sound(0.1, 101))
    assert kept.find("huge") is None
    assert kept.find("a") is not None
