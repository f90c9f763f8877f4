"""The vocoder's signal half in numpy: harmonic source, noise, overlap-add.

``sound = istft(stft(source) * harmonic_mask + noise * noise_mask)`` with Hann windows
of 600 samples every 150: two *slices* to each frame of the networks, because what is
shaped in windows of 50 ms smears bursts and loses to the teacher. Slice ``k`` is
centred at ``150 k + 75`` and the window sum is the constant of the interior, so any
chunk with :data:`REACH` frames around it equals the whole. The noise is a fixed table
made from a seed: the same text sounds the same, bit for bit, each time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Spectra = NDArray[np.complex64]

SAMPLE_RATE = 24_000
HOP = 300
"""Samples of a frame."""
SLICES = 2
"""Slices of a frame."""
SLICE = HOP // SLICES
FFT = 600
BINS = FFT // 2 + 1
EDGE = (FFT - SLICE) // 2
"""Samples by which a window reaches over its slice on each side."""
REACH = 1
"""Frames to each side whose windows touch a frame's samples."""
WINDOW_SUM = np.float32(1.5)
"""Sum of squared Hann windows at a hop of a quarter window."""
NOISE_SLICES = 1024
"""Slices of the noise table (6.4 s) before it repeats."""
TINY = 1e-4
"""Below this sine the Dirichlet kernel is at its peak."""


@lru_cache(maxsize=1)
def window() -> Floats:
    """The periodic Hann window of 600 samples."""
    steps = np.arange(FFT) * (2 * np.pi / FFT)
    shape: Floats = (0.5 - 0.5 * np.cos(steps)).astype(np.float32)
    return shape


@lru_cache(maxsize=4)
def noise_table(seed: int) -> Spectra:
    """Complex noise of unit variance, one row a slice.

    Args:
        seed: The pack's noise seed.

    Returns:
        ``[1024, 301]``.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    table = random.standard_normal((NOISE_SLICES, BINS, 2), dtype=np.float32)
    table *= np.float32(np.sqrt(0.5))
    return table.view(np.complex64)[..., 0]


def interpolate(frames: Floats) -> Floats:
    """Bring frame values to sample rate, linear between frame centres.

    Args:
        frames: ``[frames]``.

    Returns:
        ``[frames * 300]``; constant outside the first and last centre.
    """
    inner = (np.arange(HOP, dtype=np.float32) + np.float32(0.5)) / np.float32(HOP)
    padded = np.concatenate([frames[:1], frames, frames[-1:]])
    # Between the centres of two neighbours lie exactly HOP samples.
    steps = padded[:-1, None] + (padded[1:] - padded[:-1])[:, None] * inner
    half = HOP // 2
    samples: Floats = steps.reshape(-1)[half:-half].astype(np.float32, copy=False)
    return samples


def pulse_train(pitch_hz: Floats, voiced: Floats) -> Floats:
    """Make the harmonic source of a sentence.

    A sum of equal cosines at all multiples of the pitch below the Nyquist frequency, in
    closed form (Dirichlet kernel), scaled to unit power.

    Args:
        pitch_hz: ``[frames]`` in Hz, continuous through unvoiced frames.
        voiced: ``[frames]`` in 0..1.

    Returns:
        ``[frames * 300]``.
    """
    hz = interpolate(pitch_hz)
    turns = np.cumsum(hz.astype(np.float64) / SAMPLE_RATE)
    turns -= np.floor(turns)
    phase = (turns * (2 * np.pi)).astype(np.float32)
    count = np.floor(np.float32(SAMPLE_RATE / 2) / hz)
    below = np.sin(phase / 2)
    peak = np.abs(below) < TINY
    safe = np.where(peak, np.float32(TINY), below)
    kernel = np.sin((count + np.float32(0.5)) * phase) / (2 * safe) - np.float32(0.5)
    kernel = np.where(peak, count, kernel)
    train: Floats = kernel * np.sqrt(2 / count) * interpolate(voiced)
    return train


def spectrum(padded: Floats, first: int, last: int) -> Spectra:
    """Spectra of centred slices.

    Args:
        padded: The sentence's samples with ``EDGE`` zeros at both ends.
        first: First slice.
        last: One past the last slice.

    Returns:
        ``[last - first, 301]``.
    """
    part = padded[first * SLICE : (last - 1) * SLICE + FFT]
    slices = np.lib.stride_tricks.sliding_window_view(part, FFT)[::SLICE]
    spectra: Spectra = np.fft.rfft(slices * window()).astype(np.complex64, copy=False)
    return spectra


def overlap_add(spectra: Spectra) -> Floats:
    """Turn slices into sound.

    Args:
        spectra: ``[slices, 301]``.

    Returns:
        ``[slices * 150]``, without what the outer windows spill over.
    """
    slices = np.fft.irfft(spectra, n=FFT).astype(np.float32, copy=False) * window()
    count = len(slices)
    parts = FFT // SLICE
    rows = np.zeros((count + parts - 1, SLICE), np.float32)
    for part in range(parts):
        rows[part : part + count] += slices[:, part * SLICE : (part + 1) * SLICE]
    flat = rows.reshape(-1)[EDGE : EDGE + count * SLICE]
    sound: Floats = flat / WINDOW_SUM
    return sound
