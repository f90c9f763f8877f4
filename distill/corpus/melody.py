"""Tone and tune apart: what a syllable's contour adds to the pitch of a phrase.

The teacher knows four tones. A student that is to obey any contour hears, beside what
the teacher said, the same sentence with other contours: pitch minus what the old
contours add plus what the new ones would. How much a level adds is measured on the
teacher's own speech, for each speaker and place in the phrase, so phrases keep their
declination and their habits, and contours flatten towards the end as the teacher's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from common.text.contours import contour
from common.text.symbols import (
    CODAS,
    ONSETS,
    PAUSES,
    STRESS_NONE,
    SYMBOLS,
    VOWEL_NAMES,
    Symbol,
)

KNOTS = (0.15, 0.5, 0.9)
"""Where in a rime its contour's points lie."""
BLUR = 5
"""Frames over which a voice passes a corner (60 ms)."""
PLACES = 3
"""Parts of a phrase that are told apart."""
LEVEL, SPAN = 30, 20
"""Tenths of the middle of the scale, and of its half width."""
FREE_SHARE = 0.2
"""Share of sentences that get contours of no dialect, so that any can be obeyed."""
TONES = {"gd": (1, 2, 3, 4, 5, 6), "sc": (1, 2, 3, 4)}
LIGHT_TONE = 5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Syllable:
    """One syllable of a sentence.

    Attributes:
        first: Index of its first symbol.
        rime: Index of the first symbol of its rime.
        last: One past its last symbol.
        phrase: Number of the phrase between two pauses.
    """

    first: int
    rime: int
    last: int
    phrase: int


def syllables_of(symbols: Sequence[Symbol]) -> list[Syllable]:
    """Find the toned syllables of a sentence.

    Args:
        symbols: The sentence.

    Returns:
        Syllables in order; English and marks belong to none.
    """
    found: list[Syllable] = []
    phrase = 0
    run: list[int] = []
    for index, symbol in enumerate(symbols):
        name = SYMBOLS[symbol.id]
        if run and (not symbol.has_tone or _begins(symbols, run, index)):
            found += _closed(symbols, run, phrase)
            run = []
        if symbol.has_tone:
            run.append(index)
        phrase += name in PAUSES
    return found + _closed(symbols, run, phrase)


def _begins(symbols: Sequence[Symbol], run: Sequence[int], index: int) -> bool:
    """Whether a symbol begins a syllable after those of ``run``."""
    names = [SYMBOLS[symbols[number].id] for number in run]
    name = SYMBOLS[symbols[index].id]
    has_nucleus = any(each in VOWEL_NAMES for each in names)
    return name not in CODAS and (has_nucleus or name in ONSETS)


def _closed(
    symbols: Sequence[Symbol], run: Sequence[int], phrase: int
) -> list[Syllable]:
    """A finished run of symbols as a syllable, if it has a rime."""
    for index in run:
        if SYMBOLS[symbols[index].id] not in ONSETS:
            return [Syllable(run[0], index, run[-1] + 1, phrase)]
    return []


def curve(
    syllables: Sequence[Syllable], levels: Array, durations: NDArray[np.int64]
) -> Array:
    """Draw the contours of a sentence over its frames.

    Args:
        syllables: Its syllables.
        levels: ``[syllables, 3]``, -1 at level 1 and +1 at level 5.
        durations: ``[symbols]`` frames.

    Returns:
        ``[frames]``, straight between the points of a phrase, corners blurred.
    """
    total = int(durations.sum())
    drawn = np.zeros(total)
    if not syllables:
        return drawn
    ends = np.cumsum(durations)
    starts = ends - durations
    times, values, phrases = [], [], []
    for syllable, shape in zip(syllables, levels, strict=True):
        begin, end = starts[syllable.rime], ends[syllable.last - 1]
        times += [begin + knot * (end - begin) for knot in KNOTS]
        values += list(shape)
        phrases += [syllable.phrase] * len(KNOTS)
    owner = np.array(phrases)
    borders = [0, *_borders(syllables, starts), total]
    for number, phrase in enumerate(dict.fromkeys(phrases)):
        mine = owner == phrase
        left, right = borders[number], borders[number + 1]
        drawn[left:right] = np.interp(
            np.arange(left, right) + 0.5, np.array(times)[mine], np.array(values)[mine]
        )
    padded = np.pad(drawn, BLUR // 2, mode="edge")
    blurred: Array = np.convolve(padded, np.full(BLUR, 1 / BLUR), "valid")
    return blurred


def _borders(syllables: Sequence[Syllable], starts: NDArray[np.int64]) -> list[int]:
    """First frame of every phrase but the first."""
    pairs = pairwise(syllables)
    return [int(starts[b.first]) for a, b in pairs if b.phrase != a.phrase]


def places(syllables: Sequence[Syllable], durations: NDArray[np.int64]) -> Array:
    """Say how far through its phrase each frame lies.

    Args:
        syllables: The sentence's syllables.
        durations: ``[symbols]`` frames.

    Returns:
        ``[frames]`` in 0..1.
    """
    total = int(durations.sum())
    starts = np.cumsum(durations) - durations
    borders = [0, *_borders(syllables, starts), total]
    parts = [
        np.linspace(0, 1, right - left, endpoint=False)
        for left, right in pairwise(borders)
    ]
    return np.concatenate(parts) if parts else np.zeros(total)


def levels_of(symbols: Sequence[Symbol], syllables: Sequence[Syllable]) -> Array:
    """Contours that a sentence carries, ``[syllables, 3]``."""
    rows = [symbols[syllable.first][1:4] for syllable in syllables]
    return (np.array(rows, np.float64).reshape(-1, 3) - LEVEL) / SPAN


@dataclass(frozen=True)
class Melody:
    """How much a level adds to the pitch.

    Attributes:
        octaves: ``[PLACES]`` octaves for half the scale (two levels), along a phrase.
    """

    octaves: tuple[float, ...]

    def lift(self, drawn: Array, place: Array) -> Array:
        """What contours add to the pitch.

        Args:
            drawn: ``[frames]`` from :func:`curve`.
            place: ``[frames]`` from :func:`places`.

        Returns:
            ``[frames]`` octaves.
        """
        centres = (np.arange(PLACES) + 0.5) / PLACES
        raised: Array = drawn * np.interp(place, centres, np.array(self.octaves))
        return raised


@dataclass(frozen=True)
class Tune:
    """A sentence's pitch with what moves it.

    Attributes:
        pitch: ``[frames]`` octaves.
        voiced: ``[frames]`` 0 or 1.
        drawn: ``[frames]`` from :func:`curve`.
        place: ``[frames]`` from :func:`places`.
    """

    pitch: Array
    voiced: Array
    drawn: Array
    place: Array


def fit(tunes: Sequence[Tune]) -> Melody:
    """Measure how much a level adds, by least squares over voiced frames.

    Per sentence, height and declination are free; what is shared is the gain of the
    contours in each part of the phrase.

    Args:
        tunes: Sentences of one speaker.

    Returns:
        The gains.
    """
    normal, aim = np.zeros((PLACES, PLACES)), np.zeros(PLACES)
    for tune in tunes:
        kept = tune.voiced > 0
        if kept.sum() < 20:
            continue
        place = tune.place[kept]
        part = np.minimum((place * PLACES).astype(int), PLACES - 1)
        gains = np.where(part[:, None] == np.arange(PLACES), tune.drawn[kept, None], 0)
        free = np.stack([np.ones(len(place)), place], 1)
        # Height and declination are taken out of both sides (Frisch-Waugh-Lovell).
        solve, *_ = np.linalg.lstsq(
            free, np.column_stack([gains, tune.pitch[kept]]), rcond=None
        )
        left = np.column_stack([gains, tune.pitch[kept]]) - free @ solve
        normal += left[:, :-1].T @ left[:, :-1]
        aim += left[:, :-1].T @ left[:, -1]
    return Melody(tuple(np.linalg.solve(normal + 1e-6 * np.eye(PLACES), aim)))


def draw_contours(
    symbols: Sequence[Symbol],
    syllables: Sequence[Syllable],
    dialect: str,
    random: np.random.Generator,
) -> Array:
    """Draw contours for the syllables of a sentence.

    Args:
        symbols: The sentence.
        syllables: Its syllables.
        dialect: ``gd`` or ``sc``.
        random: Decides.

    Returns:
        ``[syllables, 3]`` tenths on the 1-5 scale.
    """
    count = len(syllables)
    if random.random() < FREE_SHARE:
        ends = random.uniform(10, 55, (count, 2))
        middle = ends.mean(1) + random.normal(0, 6, count)
        return np.clip(np.column_stack([ends[:, 0], middle, ends[:, 1]]), 10, 55)
    tones = random.choice(TONES[dialect], count)
    rows = []
    for tone, syllable in zip(tones, syllables, strict=True):
        is_light = symbols[syllable.first].stress == STRESS_NONE
        chosen = LIGHT_TONE if is_light and dialect == "sc" else int(tone)
        rows.append(contour(dialect, chosen)[0])
    jitter = random.normal(0, 2, (count, 3))
    return np.clip(np.array(rows, np.float64).reshape(-1, 3) + jitter, 8, 56)


def with_contours(
    symbols: Sequence[Symbol], syllables: Sequence[Syllable], contours: Array
) -> list[Symbol]:
    """Write contours into a sentence.

    Args:
        symbols: The sentence.
        syllables: Its syllables.
        contours: ``[syllables, 3]`` tenths.

    Returns:
        The sentence with them.
    """
    changed = list(symbols)
    for syllable, row in zip(syllables, contours, strict=True):
        start, middle, end = (round(float(value)) for value in row)
        for index in range(syllable.first, syllable.last):
            changed[index] = changed[index]._replace(
                start=start, middle=middle, end=end
            )
    return changed
