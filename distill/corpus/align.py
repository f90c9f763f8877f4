"""Which stretch of a sound belongs to which symbol, for a teacher that does not tell.

Forced alignment as hidden Markov models do it: a symbol is a chain of parts, a part is
a Gaussian over short-time spectra, and a sentence is the cheapest monotonic walk
through its parts (Viterbi; the search of Kim et al., 2020, "Glow-TTS", over learnt
Gaussians).
The Gaussians come from the corpus itself: cut every sentence evenly, estimate, walk,
estimate again. Nothing is random.

Pauses and word gaps may have no length; whatever sounds lasts two frames at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.text.symbols import BOS, EOS, IDS, PAUSES, SYMBOLS, WORD
from distill.teacher.base import UNIT_SAMPLES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

HOP = 300
"""Samples from one frame to the next (12.5 ms)."""
WINDOW = 600
FFT = 1024
BANDS, CEPSTRA = 32, 13
LOWEST_HZ, HIGHEST_HZ = 60.0, 11_000.0
PARTS = 2
"""Parts of a symbol that sounds."""
ROUNDS = 5
"""Times that all sentences are walked."""
SILENCE = 0
"""The one part that all pauses and marks share."""
LEAST_FRAMES = 8
"""A part that occurs less often leans on the mean of all."""
FLOOR = 0.1
"""Least variance, as a share of that over all frames."""
QUIET_DB = 35.0
"""Frames so far below the loudest one are silent, as a first guess."""
LONGEST_SKIP = 3
"""Parts that a walk may leave out in a row."""


@dataclass(frozen=True)
class Sentence:
    """What is aligned.

    Attributes:
        symbols: Ids with start and end marks.
        features: ``[frames, 2 * CEPSTRA]``, see :func:`features`.
        quiet: ``[frames]``, whether a frame is likely silent.
    """

    symbols: tuple[int, ...]
    features: Floats
    quiet: NDArray[np.bool_]

    @property
    def is_long_enough(self) -> bool:
        """Whether every symbol finds room."""
        _, _, needed = _chain(self.symbols)
        return len(self.features) >= int(needed.sum())


def features(audio: NDArray[np.float32]) -> tuple[Floats, NDArray[np.bool_]]:
    """Describe a sound: mel cepstra and how they move.

    Args:
        audio: ``[samples]``, a multiple of the hop.

    Returns:
        ``[frames, 2 * CEPSTRA]``, and whether each frame is likely silent.
    """
    edge = (WINDOW - HOP) // 2
    padded = np.pad(audio.astype(np.float64), edge)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW), FFT)) ** 2
    bands = np.log(power @ _mel_bands().T + 1e-8)
    loud = 10 * np.log10(power.sum(-1) + 1e-12)
    cepstra = bands @ _cosines().T
    padded = np.pad(cepstra, ((2, 2), (0, 0)), mode="edge")
    slope = (padded[4:] + padded[3:-1] - padded[1:-3] - padded[:-4]) / 4
    return np.concatenate([cepstra, slope], -1), loud < loud.max() - QUIET_DB


def _mel_bands() -> Floats:
    """Triangular bands, even on the mel scale: ``[BANDS, bins]``."""
    mels = np.linspace(_mel(LOWEST_HZ), _mel(HIGHEST_HZ), BANDS + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    hz = np.fft.rfftfreq(FFT, 1 / SAMPLE_RATE)
    low, mid, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (hz - low) / (mid - low), (high - hz) / (high - mid)
    bands: Floats = np.maximum(0, np.minimum(rising, falling))
    return bands


def _mel(hz: float) -> float:
    """The mel scale of O'Shaughnessy (1987)."""
    return 2595 * float(np.log10(1 + hz / 700))


def _cosines() -> Floats:
    """The first rows of a discrete cosine transform of type II."""
    band = np.arange(BANDS) + 0.5
    turns = np.pi / BANDS * np.arange(CEPSTRA)[:, None] * band
    rows: Floats = np.cos(turns) * np.sqrt(2 / BANDS)
    return rows


_MARKS = frozenset((IDS[BOS], IDS[EOS]))
_SOFT = frozenset(IDS[name] for name in (*PAUSES, WORD))


def _chain(symbols: Sequence[int]) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """The parts of a sentence: which Gaussian, of which symbol, and if it must be."""
    parts, owners, needed = [], [], []
    for at, symbol in enumerate(symbols):
        if symbol in _SOFT:
            parts.append(SILENCE)
            owners.append(at)
            needed.append(symbol in _MARKS)
        else:
            parts += [1 + symbol * PARTS + part for part in range(PARTS)]
            owners += [at] * PARTS
            needed += [True] * PARTS
    return np.array(parts), np.array(owners), np.array(needed)


def walk(costs: Floats, needed: NDArray[np.bool_]) -> Integers:
    """Find the cheapest monotonic walk through a chain of parts.

    Args:
        costs: ``[frames, parts]``.
        needed: ``[parts]``; others may be left out. The first and last are needed.

    Returns:
        ``[frames]``, the part of each frame.

    Raises:
        ValueError: There are fewer frames than needed parts.
    """
    frames, parts = costs.shape
    if frames < int(needed.sum()):
        raise ValueError("fewer frames than parts")
    steps = 1 + LONGEST_SKIP
    allowed = np.full((steps + 1, parts), np.inf)
    allowed[0] = 0
    for step in range(1, steps + 1):
        for part in range(step, parts):
            if not needed[part - step + 1 : part].any():
                allowed[step, part] = 0
    best = np.full(parts, np.inf)
    best[0] = costs[0, 0]
    came = np.zeros((frames, parts), np.int8)
    reach = np.empty((steps + 1, parts))
    for frame in range(1, frames):
        for step in range(steps + 1):
            reach[step, :step] = np.inf
            reach[step, step:] = best[: parts - step]
        reach += allowed
        came[frame] = reach.argmin(0)
        best = reach.min(0) + costs[frame]
    path = np.empty(frames, np.int64)
    part = parts - 1
    for frame in range(frames - 1, -1, -1):
        path[frame] = part
        part -= int(came[frame, part])
    return path


class Aligner:
    """Gaussians of all parts; :func:`learn` makes one."""

    def __init__(self, mean: Floats, variance: Floats) -> None:
        """Take the Gaussians.

        Args:
            mean: ``[parts, features]``.
            variance: The same, diagonal.
        """
        self._mean = mean
        self._precision = 1 / variance
        self._log = np.log(variance).sum(-1)

    def _costs(self, frames: Floats, parts: Integers) -> Floats:
        """Negative log-likelihoods, but for a constant."""
        known, place = np.unique(parts, return_inverse=True)
        precision, mean = self._precision[known], self._mean[known]
        squares = (
            frames**2 @ precision.T
            - 2 * frames @ (mean * precision).T
            + (mean**2 * precision).sum(-1)
        )
        costs: Floats = (0.5 * (squares + self._log[known]))[:, place]
        return costs

    def owners(self, sentence: Sentence) -> tuple[Integers, Integers]:
        """Align a sentence.

        Args:
            sentence: The sentence.

        Returns:
            ``[frames]``: the part of each frame, and the place of its symbol.

        Raises:
            ValueError: It is shorter than its symbols can be.
        """
        parts, owners, needed = _chain(sentence.symbols)
        path = walk(self._costs(sentence.features, parts), needed)
        return parts[path], owners[path]

    def units(self, sentence: Sentence) -> Integers:
        """Durations of a sentence's symbols.

        Args:
            sentence: The sentence; its frames are a whole number of units.

        Returns:
            ``[symbols]`` in units of 25 ms; together they are the whole sound.

        Raises:
            ValueError: It is shorter than its symbols can be.
        """
        _, owners = self.owners(sentence)
        frames = np.bincount(owners, minlength=len(sentence.symbols))
        per_unit = UNIT_SAMPLES // HOP
        ends = np.floor(np.cumsum(frames) / per_unit + 0.5).astype(np.int64)
        ends[-1] = len(owners) // per_unit
        return np.diff(np.minimum(ends, ends[-1]), prepend=0)


def learn(sentences: Sequence[Sentence], rounds: int = ROUNDS) -> Aligner:
    """Learn the Gaussians of a corpus.

    Args:
        sentences: Its sentences; those too short for their symbols are passed over.
        rounds: Times that all of them are walked.

    Returns:
        The aligner.

    Raises:
        ValueError: None of them is long enough.
    """
    usable = [sentence for sentence in sentences if sentence.is_long_enough]
    if not usable:
        raise ValueError("no sentence is as long as its symbols")
    aligner = _estimate(usable, [_even(sentence) for sentence in usable])
    for _ in range(rounds):
        aligner = _estimate(usable, [aligner.owners(s)[0] for s in usable])
    return aligner


def _even(sentence: Sentence) -> Integers:
    """A first guess: quiet frames are silence, the others are shared out evenly."""
    parts, _, _ = _chain(sentence.symbols)
    sounding = parts[parts != SILENCE]
    path = np.zeros(len(sentence.features), np.int64)
    heard = np.flatnonzero(~sentence.quiet)
    if len(heard) and len(sounding):
        share = np.arange(len(heard)) * len(sounding) // len(heard)
        path[heard] = sounding[share]
    return path


def _estimate(sentences: Sequence[Sentence], paths: Sequence[Integers]) -> Aligner:
    """Mean and variance of each part, leaning on those of all where it is rare."""
    frames = np.concatenate([sentence.features for sentence in sentences])
    parts = np.concatenate(paths)
    size = 1 + len(SYMBOLS) * PARTS
    count = np.bincount(parts, minlength=size)[:, None].astype(np.float64)
    total, square = np.zeros((2, size, frames.shape[1]))
    np.add.at(total, parts, frames)
    np.add.at(square, parts, frames**2)
    all_mean, all_variance = frames.mean(0), frames.var(0) + 1e-6
    weight = np.maximum(LEAST_FRAMES - count, 0)
    mean = (total + weight * all_mean) / (count + weight)
    second = square + weight * (all_variance + all_mean**2)
    variance = second / (count + weight) - mean**2
    return Aligner(mean, np.maximum(variance, FLOOR * all_variance))
