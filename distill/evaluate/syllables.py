"""Syllables in a sound: where each stands, how long it is, which pitch is heard.

The pitch comes from a tracker that knows nothing of our own prediction. Each syllable
gives three points, at 25, 50 and 80 % of its voiced part, where a contour has start,
middle and end. Light syllables (tone 5 of ``sc``) are left out: their height is that of
the tone before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE
from common.text.symbols import Symbol
from common.voice.accent import phrases_of
from common.voice.hold import longest_voiced

Floats = NDArray[np.float64]

PITCH_PER_SECOND = 100
POINTS = (0.25, 0.5, 0.8)
"""Where in its voiced part a syllable is looked at."""
LEAST_VOICED = 4
"""Voiced values (40 ms) below which a syllable's tone cannot be judged."""
FULL_TONES = {"sc": (1, 2, 3, 4), "gd": (1, 2, 3, 4, 5, 6), "zh": (1, 2, 3, 4)}
CHECKED = frozenset(("-p", "-t", "-k"))


@dataclass(frozen=True)
class Spoken:
    """One syllable as it was heard.

    Attributes:
        tone: What was meant.
        place: ``alone``, ``first``, ``inside`` or ``last`` in its phrase.
        phrase: Number of the phrase in its sentence.
        into_s: Seconds from the phrase's start to the syllable's middle.
        seconds: Length of the syllable.
        is_checked: Whether it ends in -p, -t or -k.
        points: ``[3]`` semitones over 100 Hz; empty where too little is voiced.
    """

    tone: int
    place: str
    phrase: int
    into_s: float
    seconds: float
    is_checked: bool
    points: Floats


def spoken(
    symbols: Sequence[Symbol],
    spans: NDArray[np.int64],
    hz: Sequence[float],
    dialect: str,
) -> list[Spoken]:
    """Look at the pitch of each syllable with a full tone.

    Args:
        symbols: The sentence as it was read.
        spans: ``[symbols, 2]`` samples, where each symbol stands in the sound.
        hz: The pitch of the sound, 100 values a second, 0 where unvoiced.
        dialect: Whose tones the symbols name.

    Returns:
        The syllables in order.
    """
    curve = np.array(hz)
    found = []
    for number, phrase in enumerate(phrases_of(symbols, dialect)):
        begins = spans[phrase[0].begin, 0]
        for at, each in enumerate(phrase):
            first, last = spans[each.begin, 0], spans[each.end - 1, 1]
            if each.tone not in FULL_TONES[dialect]:
                continue
            found.append(
                Spoken(
                    tone=each.tone,
                    place=_place(at, len(phrase)),
                    phrase=number,
                    into_s=float((first + last) / 2 - begins) / SAMPLE_RATE,
                    seconds=float(last - first) / SAMPLE_RATE,
                    is_checked=symbols[each.end - 1].name in CHECKED,
                    points=_points(curve, int(first), int(last)),
                )
            )
    return found


def _place(at: int, count: int) -> str:
    if count == 1:
        return "alone"
    return {0: "first", count - 1: "last"}.get(at, "inside")


def _points(curve: Floats, first: int, last: int) -> Floats:
    """Semitones at three places of the longest voiced part between two samples."""
    step = SAMPLE_RATE // PITCH_PER_SECOND
    part = curve[-(-first // step) : -(-last // step)]
    begin, end = longest_voiced(part)
    if end - begin < LEAST_VOICED:
        return np.zeros(0)
    tones = 12 * np.log2(part[begin:end] / 100)
    wanted = np.array(POINTS) * (len(tones) - 1)
    found: Floats = np.interp(wanted, np.arange(len(tones)), tones)
    return found


def checked(said: Sequence[Spoken]) -> dict[str, float]:
    """Lengths of syllables that end in -p, -t, -k, and of the others, inside phrases.

    Args:
        said: All syllables of a voice.

    Returns:
        Milliseconds of both and their ratio; empty where there are none.
    """
    inner = [each for each in said if each.place in ("first", "inside")]
    short = [each.seconds for each in inner if each.is_checked]
    long = [each.seconds for each in inner if not each.is_checked]
    if not short or not long:
        return {}
    return {
        "syllables": len(short),
        "checked_ms": round(1000 * float(np.mean(short)), 1),
        "others_ms": round(1000 * float(np.mean(long)), 1),
        "ratio": round(float(np.mean(short) / np.mean(long)), 3),
    }
