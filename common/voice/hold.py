"""Tones held to their contours: what a dialect's syllables lack in pitch is added.

Weights that learnt one language's melody smooth another's: a syllable's contour leans
on its neighbours' and flattens towards the end of a phrase. The pitch network's answer
is therefore moved, syllable by syllable, a share of the way to

    middle + step x (level - 3) + fall x seconds into the phrase + drop x phrase,

the line that ``yaohe-distill tune`` measured in the same voice's own answers. What is
left of the answer keeps the phrase's tune, so no two syllables of a tone are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.protocol.contours import Scale
from common.text.symbols import Symbol
from common.voice.accent import phrases_of
from common.voice.source import HOP, SAMPLE_RATE

Floats = NDArray[np.float32]

KNOTS = (0.15, 0.4, 0.65, 1.0)
"""Where in its voiced part a syllable reaches start, middle and end of its contour, and
where it stops going on: what moves is heard over some hundredths of a second, so a rise
that ends where it should be heard is heard too low."""
ONWARD = 0.7
"""How far a contour goes on after its end, by its last half."""
LEAST_VOICED = 4
"""Voiced frames (50 ms) below which a syllable carries no contour of its own."""
BLUR = 3
"""Frames over which a voice passes a corner (37.5 ms)."""
OCTAVE = 1200
"""Cents."""
MIDDLE = 30
"""The middle of the scale in tenths of a level."""


def hold(
    symbols: Sequence[Symbol],
    dialect: str,
    counts: NDArray[np.int64],
    octaves: Floats,
    voiced: Floats,
    scale: Scale,
) -> Floats:
    """Move a sentence's pitch towards its contours.

    Args:
        symbols: The sentence.
        dialect: Whose tones.
        counts: ``[symbols]`` frames.
        octaves: ``[frames]`` as the pitch network answered.
        voiced: ``[frames]``, 0 or 1.
        scale: How the voice sings levels.

    Returns:
        ``[frames]`` octaves.
    """
    ends = np.cumsum(counts)
    starts = ends - counts
    frames = np.arange(len(octaves))
    lift = np.zeros(len(octaves))
    for number, phrase in enumerate(phrases_of(symbols, dialect)):
        begin, end = int(starts[phrase[0].begin]), int(ends[phrase[-1].end - 1])
        places: list[float] = []
        lacking: list[float] = []
        for syllable in phrase:
            first, last = int(starts[syllable.begin]), int(ends[syllable.end - 1])
            said = symbols[syllable.begin]
            left, right = longest_voiced(voiced[first:last])
            if not said.has_tone or right - left < LEAST_VOICED:
                continue
            at = first + left + np.array(KNOTS) * (right - left - 1)
            into_s = ((first + last) / 2 - begin) * HOP / SAMPLE_RATE
            beyond = said.end + ONWARD * (said.end - said.middle)
            shape = np.array((said.start, said.middle, said.end, beyond))
            levels = (shape - MIDDLE) / 10
            cents = scale.middle + scale.fall * into_s + scale.drop * number
            wanted = (cents + scale.step * levels) / OCTAVE
            places += at.tolist()
            lacking += (wanted - np.interp(at, frames, octaves)).tolist()
        if places:
            lift[begin:end] = np.interp(frames[begin:end], places, lacking)
    if not lift.any():
        return octaves
    padded = np.pad(lift, BLUR // 2, mode="edge")
    smooth = np.convolve(padded, np.full(BLUR, 1 / BLUR), "valid")
    return (octaves + scale.hold / 1000 * smooth).astype(np.float32)


def longest_voiced(values: NDArray[np.floating]) -> tuple[int, int]:
    """Find the longest voiced part of a syllable.

    Args:
        values: Pitch in Hertz or voicing, above 0 where there is voice.

    Returns:
        Its first place and one past its last; the first such part, empty where nothing
        is voiced.
    """
    edges = np.flatnonzero(np.diff(np.pad((values > 0).astype(int), 1)))
    runs = edges.reshape(-1, 2)
    if not len(runs):
        return 0, 0
    begin, end = runs[int(np.argmax(runs[:, 1] - runs[:, 0]))]
    return int(begin), int(end)
