"""Whether streamed sound is whole sound, and the same text the same samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from common.text import read
from common.voice.walk import Networks, Style, speak

WHOLE = 1 << 30
"""Frames of a chunk that no sentence fills."""
CUTS = ((1, 1), (7, 13), (24, 240), (36, 5), (240, 24))
"""Frames of the first chunk and of the later ones, from the smallest on."""
TIMES = 10


def streamed_against_whole(
    networks: Networks, sentences: Sequence[str], style: Style
) -> dict[str, float | int]:
    """Compare every way of cutting with not cutting.

    Args:
        networks: The voice.
        sentences: What is said.
        style: How.

    Returns:
        The largest difference of a sample, whether all lengths agree (1 or 0), how many
        sentences and cuts.
    """
    worst, same = 0.0, True
    for text in sentences:
        symbols = read(text, style.dialect).symbols
        whole = np.concatenate(
            list(speak(networks, symbols, style, chunks=(WHOLE,) * 2))
        )
        for cut in CUTS:
            parts = np.concatenate(list(speak(networks, symbols, style, chunks=cut)))
            same = same and len(parts) == len(whole)
            shared = min(len(parts), len(whole))
            worst = max(worst, float(np.abs(parts[:shared] - whole[:shared]).max()))
    return {
        "largest_difference": worst,
        "same_length": int(same),
        "sentences": len(sentences),
        "cuts": len(CUTS),
    }


def repeated(
    networks: Networks, sentences: Sequence[str], style: Style
) -> dict[str, int]:
    """Say the same ten times.

    Args:
        networks: The voice.
        sentences: What is said.
        style: How.

    Returns:
        How many sentences, how often each, and the highest number of different sounds
        of one sentence: 1 where all were identical bit for bit.
    """
    most = 0
    for text in sentences:
        symbols = read(text, style.dialect).symbols
        digests = set()
        for _ in range(TIMES):
            sha = hashlib.sha256()
            for chunk in speak(networks, symbols, style):
                sha.update(chunk.tobytes())
            digests.add(sha.hexdigest())
        most = max(most, len(digests))
    return {"sentences": len(sentences), "times": TIMES, "different_sounds": most}
