"""Tones as they are heard: contours found in the sound, against what was meant.

One line for all syllables of a voice,

    pitch = offset + step x level + fall x seconds into the phrase + drop x phrase,

takes declination (``fall`` and ``drop``) away and brings semitones to the 1-5 scale of
the targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.text.contours import contour
from distill.evaluate.syllables import POINTS, Floats, Spoken

MIDDLE = 3.0
"""The middle of the scale."""
FARTHEST = 14.0
"""Semitones from a voice's median beyond which the tracker was an octave off."""


def target(dialect: str, tone: int) -> Floats:
    """The contour that a tone is meant to have, levels from 1 to 5."""
    return np.array(contour(dialect, tone)[0]) / 10


@dataclass(frozen=True)
class Heard:
    """All syllables of a voice that could be judged, on the 1-5 scale.

    Attributes:
        dialect: Whose tones.
        syllables: The syllables.
        levels: ``[syllables, 3]``, declination taken away.
        middle: Level 3 at the start of a sentence, in semitones over 100 Hz.
        step: Semitones in a level.
        fall: Semitones by which the voice rises in a second of a phrase.
        drop: The same from one phrase to the next.
        unjudged: Syllables with too little voice, or an octave off.
    """

    dialect: str
    syllables: Sequence[Spoken]
    levels: Floats
    middle: float
    step: float
    fall: float
    drop: float
    unjudged: int

    @property
    def tones(self) -> NDArray[np.int64]:
        """``[syllables]``."""
        return np.array([each.tone for each in self.syllables])

    @property
    def targets(self) -> Floats:
        """``[syllables, 3]``."""
        return np.array([target(self.dialect, each.tone) for each in self.syllables])


def heard(said: Sequence[Spoken], dialect: str) -> Heard:
    """Bring the syllables of one voice to the scale of the targets.

    Args:
        said: Syllables of all sentences.
        dialect: Whose tones.

    Returns:
        What could be judged.
    """
    voiced = [each for each in said if each.points.size]
    middle = np.median([each.points for each in voiced]) if voiced else 0.0
    kept = [e for e in voiced if np.abs(e.points - middle).max() <= FARTHEST]
    points = np.array([each.points for each in kept]).reshape(-1)
    level = np.array([target(dialect, each.tone) for each in kept]).reshape(-1)
    into = np.repeat([each.into_s for each in kept], len(POINTS))
    phrase = np.repeat([float(each.phrase) for each in kept], len(POINTS))
    rows = np.stack([np.ones_like(points), level, into, phrase], -1)
    offset, step, fall, drop = np.linalg.lstsq(rows, points, rcond=None)[0]
    flat = points - fall * into - drop * phrase
    levels = (flat - offset) / step
    return Heard(
        dialect=dialect,
        syllables=kept,
        levels=levels.reshape(-1, len(POINTS)),
        middle=float(offset + MIDDLE * step),
        step=float(step),
        fall=float(fall),
        drop=float(drop),
        unjudged=len(said) - len(kept),
    )


def correlation(found: Heard) -> float:
    """Pearson's correlation of spoken points with the targets' points."""
    both = np.corrcoef(found.levels.reshape(-1), found.targets.reshape(-1))
    return float(both[0, 1])


def told_apart(found: Heard) -> dict[str, Any]:
    """Name each syllable's tone by the nearest contour.

    Args:
        found: The syllables of a voice.

    Returns:
        The share that is right by the nearest *target*, the same by the nearest mean
        of the *other* syllables of each tone, and confusions ``{tone: {named: n}}``.
    """
    known = np.array(sorted(set(found.tones.tolist())))
    shapes = np.array([target(found.dialect, int(tone)) for tone in known])
    off = np.linalg.norm(found.levels[:, None] - shapes[None], axis=-1)
    named = known[off.argmin(-1)]
    confusions = {
        str(tone): {
            str(other): int(((found.tones == tone) & (named == other)).sum())
            for other in known.tolist()
        }
        for tone in known.tolist()
    }
    return {
        "nearest_target": round(float((named == found.tones).mean()), 4),
        "nearest_mean": round(_by_means(found, known), 4),
        "confusions": confusions,
    }


def _by_means(found: Heard, known: NDArray[np.int64]) -> float:
    """The share that is nearest to the mean of the other syllables of its tone."""
    totals = np.array([found.levels[found.tones == tone].sum(0) for tone in known])
    counts = np.array([(found.tones == tone).sum() for tone in known], float)
    right = 0
    for points, tone in zip(found.levels, found.tones, strict=True):
        own = known == tone
        rest = counts - own
        means = (totals - own[:, None] * points) / np.maximum(rest, 1)[:, None]
        off = np.where(rest > 0, np.linalg.norm(means - points, axis=-1), np.inf)
        right += int(known[off.argmin()] == tone)
    return right / max(1, len(found.tones))


def drawn(found: Heard) -> dict[str, dict[str, Any]]:
    """Each tone as it was meant and as it was spoken, for tables and plots.

    Args:
        found: The syllables of a voice.

    Returns:
        By tone: how many, ``target``, ``spoken`` (mean levels), ``spread`` (standard
        deviation) and ``places``: mean levels at each place of a phrase.
    """
    lines: dict[str, dict[str, Any]] = {}
    for tone in sorted(set(found.tones.tolist())):
        mine = found.levels[found.tones == tone]
        places = np.array([e.place for e in found.syllables if e.tone == tone])
        lines[str(tone)] = {
            "syllables": len(mine),
            "target": target(found.dialect, tone).tolist(),
            "spoken": mine.mean(0).round(2).tolist(),
            "spread": mine.std(0).round(2).tolist(),
            "places": {
                place: mine[places == place].mean(0).round(2).tolist()
                for place in ("first", "inside", "last")
                if (places == place).any()
            },
        }
    return lines


def variation(found: Heard, lines: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """How much one tone differs from itself, so that nobody takes it for a copy.

    Args:
        found: The syllables of a voice.
        lines: From :func:`drawn`.

    Returns:
        In semitones: ``spread`` within a tone (mean standard deviation), ``by_place``
        (mean over tones of the largest difference between places), and the voice's
        ``range`` (5 to 95 % of all points).
    """
    spread = [np.mean(line["spread"]) for line in lines.values()]
    apart = []
    for line in lines.values():
        shapes = np.array(list(line["places"].values()))
        if len(shapes) > 1:
            apart.append(np.abs(shapes[:, None] - shapes[None]).max())
    low, high = np.percentile([each.points for each in found.syllables], (5, 95))
    return {
        "spread": round(float(np.mean(spread)) * abs(found.step), 2),
        "by_place": round(float(np.mean(apart)) * abs(found.step), 2) if apart else 0.0,
        "range": round(float(high - low), 2),
        "median_hz": round(
            float(
                100 * 2 ** (np.median([each.points for each in found.syllables]) / 12)
            ),
            1,
        ),
    }
