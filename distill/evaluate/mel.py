"""The mel spectrum that voices are compared by: windows of 50 ms every 12.5 ms.

It is a measure of its own and stays as it is while students change, so that one version
of a voice can be held against the next.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE

Floats = NDArray[np.float32]

MELS = 80
LOW_HZ, HIGH_HZ = 20.0, 11_500.0
FLOOR = 1e-5
WINDOW, HOP = 1200, 300
"""Samples."""


@lru_cache(maxsize=1)
def filters() -> Floats:
    """Triangular filters on the mel scale ``2595 log10(1 + f / 700)``.

    Returns:
        ``[601, 80]``; each filter has unit area over bins.
    """
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (LOW_HZ, HIGH_HZ))
    edges = 700 * (10 ** (np.linspace(low, high, MELS + 2) / 2595) - 1)
    bins = np.linspace(0, SAMPLE_RATE / 2, WINDOW // 2 + 1)[:, None]
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
    padded = np.pad(sound, (WINDOW - HOP) // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    # The periodic Hann window.
    shape = 0.5 - 0.5 * np.cos(np.arange(WINDOW) * (2 * np.pi / WINDOW))
    spectra = np.abs(np.fft.rfft(frames * shape.astype(np.float32)))
    mel: Floats = np.log(spectra.astype(np.float32) @ filters() + np.float32(FLOOR))
    return mel
