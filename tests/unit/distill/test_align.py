"""Durations from sound alone: the walk is the cheapest, the cuts are where they are."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.text.symbols import BOS, EOS, IDS, WORD
from distill.corpus import align
from distill.teacher.base import UNIT_SAMPLES

NAMES = ("a", "i", "u", "ʂ", "m", "tʰ", "o", "-n")


def ids(*names: str) -> tuple[int, ...]:
    return tuple(IDS[name] for name in (BOS, *names, EOS))


def spoken(symbols: tuple[int, ...], units: NDArray[Any], seed: int) -> NDArray[Any]:
    """A sound in which every symbol has a spectrum of its own."""
    dice = np.random.default_rng(seed)
    silent = {IDS[name] for name in (BOS, EOS, WORD, ",")}
    pieces = []
    for symbol, count in zip(symbols, units, strict=True):
        samples = int(count) * UNIT_SAMPLES
        sound = 0.001 * dice.standard_normal(samples)
        if symbol not in silent:
            time = np.arange(samples) / SAMPLE_RATE
            for partial in range(3):
                hz = 200 + (symbol * 977 * (partial + 1)) % 5000
                sound += 0.1 * np.sin(2 * np.pi * hz * time + dice.uniform(0, 6))
        pieces.append(sound)
    return np.concatenate(pieces).astype(np.float32)


def sentence(
    symbols: tuple[int, ...], units: NDArray[Any], seed: int
) -> align.Sentence:
    return align.Sentence(symbols, *align.features(spoken(symbols, units, seed)))


def test_symbols_are_found_where_they_sound() -> None:
    dice = np.random.default_rng(3)
    made, truth = [], []
    for number in range(24):
        names = list(dice.choice(NAMES, 12))
        names[5:5], names[9:9] = [","], [WORD]
        symbols = ids(*names)
        units = dice.integers(2, 7, len(symbols))
        units[symbols.index(IDS[WORD])] = 0
        units[[0, -1]] = 4
        made.append(sentence(symbols, units, number))
        truth.append(units)
    aligner = align.learn(made)
    errors = [
        np.abs(np.cumsum(aligner.units(one)) - np.cumsum(units))
        for one, units in zip(made, truth, strict=True)
    ]
    # In units of 25 ms; two alike symbols in a row cannot be told apart.
    assert float(np.mean(np.concatenate(errors))) < 0.5


def test_durations_are_the_whole_sound_and_what_sounds_has_some() -> None:
    dice = np.random.default_rng(5)
    symbols = ids(*dice.choice(NAMES, 9))
    units = dice.integers(1, 5, len(symbols))
    one = sentence(symbols, units, 1)
    found = align.learn([one], rounds=1).units(one)
    assert found.sum() == units.sum()
    assert (found >= 0).all()
    assert (found[1:-1] >= 1).all()


def test_the_same_corpus_gives_the_same_durations() -> None:
    dice = np.random.default_rng(8)
    made = [
        sentence(ids(*dice.choice(NAMES, 6)), dice.integers(2, 5, 8), number)
        for number in range(3)
    ]
    first, second = align.learn(made), align.learn(made)
    for one in made:
        assert (first.units(one) == second.units(one)).all()


def test_a_sentence_too_short_for_its_symbols_is_passed_over_and_named() -> None:
    short = sentence(ids(*NAMES), np.array([1, *([0] * 8), 1]), 1)
    long = sentence(ids("a", "i"), np.array([2, 3, 3, 2]), 2)
    aligner = align.learn([short, long])
    with pytest.raises(ValueError, match="fewer frames"):
        aligner.units(short)
    with pytest.raises(ValueError, match="as long as its symbols"):
        align.learn([short])


def cheapest(costs: NDArray[Any], needed: NDArray[Any]) -> float:
    """The least cost of all walks, by trying them all."""
    frames, parts = costs.shape
    soft = [at for at in range(parts) if not needed[at]]
    best = np.inf
    for count in range(len(soft) + 1):
        for left_out in combinations(soft, count):
            chain = [at for at in range(parts) if at not in left_out]
            for cuts in combinations(range(1, frames), len(chain) - 1):
                edges = [0, *cuts, frames]
                cost = sum(
                    costs[edges[n] : edges[n + 1], part].sum()
                    for n, part in enumerate(chain)
                )
                best = min(best, float(cost))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_walk_is_the_cheapest_of_all(seed: int) -> None:
    dice = np.random.default_rng(seed)
    costs = dice.normal(size=(7, 5))
    needed = np.array([True, bool(seed & 1), bool(seed & 2), bool(seed & 4), True])
    path = align.walk(costs, needed)
    assert path[0] == 0
    assert path[-1] == 4
    assert (np.diff(path) >= 0).all()
    assert set(np.flatnonzero(needed)) <= set(path.tolist())
    cost = costs[np.arange(7), path].sum()
    assert cost == pytest.approx(cheapest(costs, needed))
