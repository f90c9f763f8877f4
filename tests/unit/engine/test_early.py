"""Sound that begins early: soon, without a pause, and exact from where it can be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.chattts.assets import Assets  # noqa: E402
from cloud.engine.chattts.early import PLAN, EarlyStream, speak  # noqa: E402
from cloud.engine.chattts.stream import Vocoder  # noqa: E402

pytestmark = pytest.mark.slow

STEPS = 240
STEP_S = 512 / 24_000
"""Sound of one step, seconds."""
PACE = 0.35
"""Time that a step takes, relative to its sound."""
WAY_S = 0.010
"""Time from the last step of a piece of sound to the listener, seconds."""
TAKEOVER = 90
"""The step with which the exact sound takes over."""


class Heard(NamedTuple):
    """A piece of sound, the step with which it left, and where it came from."""

    step: int
    samples: Any
    is_preview: bool


@pytest.fixture(scope="module")
def vocoder(deep_assets: Assets) -> Vocoder:
    return Vocoder(deep_assets)


@pytest.fixture(scope="module")
def hidden(deep_assets: Assets) -> Any:
    draw = torch.Generator().manual_seed(5)
    return torch.randn(STEPS, deep_assets.shape.hidden, generator=draw)


def played(vocoder: Vocoder, hidden: Any) -> list[Heard]:
    """Steps one by one, as an engine makes them."""
    stream = EarlyStream(vocoder)
    heard = []
    for step, row in enumerate(hidden.split(1), 1):
        stream.add(row)
        if step == len(hidden):
            stream.end()
        if stream.is_due:
            (samples,) = speak(vocoder, [stream])
            heard.append(Heard(step, samples, stream.is_preview))
    return heard


@pytest.fixture(scope="module")
def heard(vocoder: Vocoder, hidden: Any) -> list[Heard]:
    return played(vocoder, hidden)


def test_the_first_sound_leaves_with_the_twelfth_step(heard: list[Heard]) -> None:
    assert heard[0].step == 12
    assert heard[0].samples.size > 0


def test_playback_never_waits_at_a_pace_of_0_35(heard: list[Heard]) -> None:
    ends = heard[0].step * STEP_S * PACE + WAY_S
    for piece in heard:
        arrives = piece.step * STEP_S * PACE + WAY_S
        assert arrives <= ends
        ends += piece.samples.size / 24_000


def test_a_listener_further_away_hears_no_pause_either(heard: list[Heard]) -> None:
    """Every piece may be late by as much as the plan's pace leaves."""
    margins = []
    ends = heard[0].step * STEP_S * PACE
    for piece in heard:
        margins.append(ends - piece.step * STEP_S * PACE)
        ends += piece.samples.size / 24_000
    assert min(margins[1:]) > 0.010


@pytest.mark.parametrize("steps", [1, 2, 11, 12, 13, 19, 20, 21, 41, 89, 90, 91, 150])
def test_the_sound_has_its_length_and_is_exact_after_the_last_preview(
    vocoder: Vocoder, hidden: Any, steps: int
) -> None:
    whole = vocoder.whole(hidden[:steps])
    heard = played(vocoder, hidden[:steps])
    sound = np.concatenate([piece.samples for piece in heard])
    assert sound.shape == whole.shape
    early = sum(piece.samples.size for piece in heard if piece.is_preview)
    fade = PLAN.fade if early else 0
    np.testing.assert_array_equal(sound[early + fade :], whole[early + fade :])
    loudest = np.abs(whole).max()
    assert np.abs(sound - whole).max() < 0.05 * loudest


def test_the_exact_sound_takes_over_once(heard: list[Heard]) -> None:
    kinds = [piece.is_preview for piece in heard]
    assert kinds == sorted(kinds, reverse=True)
    assert [piece.step for piece in heard if piece.is_preview] == [12, 20, 40]
    takeover = next(piece.step for piece in heard if not piece.is_preview)
    assert takeover == TAKEOVER


def test_a_join_goes_from_one_sound_to_the_other_without_a_step(
    vocoder: Vocoder, hidden: Any
) -> None:
    stream = EarlyStream(vocoder)
    stream.add(hidden[:12])
    stream.learn(np.zeros(0, np.float32))
    before = stream.give(np.ones(5888, np.float32))
    stream.add(hidden[12:20])
    stream.learn(np.zeros(0, np.float32))
    after = stream.give(np.full(9984, -1, np.float32))
    assert before.min() == 1
    assert after[0] == pytest.approx(1, abs=0.01)
    assert np.diff(after).min() == pytest.approx(-2 / (PLAN.fade + 1), abs=1e-6)
    assert after[PLAN.fade :].max() == -1


def test_streams_that_are_spoken_together_sound_as_alone(
    vocoder: Vocoder, hidden: Any
) -> None:
    lengths = [15, 60, 33, 100]
    starts = [0, 3, 30, 31]
    streams = [EarlyStream(vocoder) for _ in lengths]
    heard: list[list[Any]] = [[] for _ in lengths]
    for now in range(140):
        for stream, start, length in zip(streams, starts, lengths, strict=True):
            step = now - start
            if 0 <= step < length:
                stream.add(hidden[step : step + 1])
            if step == length - 1:
                stream.end()
        due = [
            n
            for n, stream in enumerate(streams)
            if stream.is_due and now < starts[n] + lengths[n]
        ]
        sounds = speak(vocoder, [streams[n] for n in due])
        for n, samples in zip(due, sounds, strict=True):
            heard[n].append(samples)
    for length, parts in zip(lengths, heard, strict=True):
        alone = [piece.samples for piece in played(vocoder, hidden[:length])]
        np.testing.assert_array_equal(np.concatenate(parts), np.concatenate(alone))
