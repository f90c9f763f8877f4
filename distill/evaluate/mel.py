"""The mel spectrum without torch: what :mod:`distill.student.losses` trains on."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from common.voice import source

Floats = NDArray[np.float32]

MELS = 80
LOW_HZ, HIGH_HZ = 20.0, 11_500.0
FLOOR = 1e-5


@lru_cache(maxsize=1)
def filters() -> Floats:
    """Triangular filters on the mel scale ``2595 log10(1 + f / 700)``.

    Returns:
        ``[601, 80]``; each filter has unit area over bins.
    """
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (LOW_HZ, HIGH_HZ))
    edges = 700 * (10 ** (np.linspace(low, high, MELS + 2) / 2595) - 1)
    bins = np.linspace(0, source.SAMPLE_RATE / 2, source.BINS)[:, None]
    rise = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    shape = np.maximum(np.minimum(rise, fall), 0)
    area: Floats = (shape / np.maximum(shape.sum(0), 1e-9)).astype(np.float32)
    return area


def log_mel(sound: Floats) -> Floats:
    """Natural logarithm of mel magnitudes.

    Args:
        sound: ``[frames * 300]``.

    Returns:
        ``[frames, 80]``.
    """
    padded = np.pad(sound, source.EDGE)
    spectra = source.spectrum(padded, 0, len(sound) // source.HOP)
    mel: Floats = np.log(np.abs(spectra) @ filters() + np.float32(FLOOR))
    return mel
