"""Sound as numbers: the one sample rate, its integer form, its loudness.

Inside the project sound is float32, mono, 24,000 samples a second, nominally in
[-1, 1]. Rules of this module:

* ``from_s16(to_s16(x))`` is exact for every sound that came from 16 bits.
* A value that is no number becomes silence: a fault upstream must not become a bang.
* Loudness follows ITU-R BS.1770 (K weighting, two gates) for one channel.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
"""Samples per second, everywhere."""

PCM_SCALE = 32_768
"""Steps of 16 bits between 0 and 1."""

PEAK_CEILING = 0.985
"""Highest magnitude that :func:`peak_safe` lets through; lossy coding overshoots."""

SILENCE_DB = -120.0
"""What silence measures, in dB; minus infinity fits into no JSON."""

LOUDNESS_BLOCK_S = 0.4
"""Length of a block of the loudness measure, in seconds; blocks overlap by 3/4."""
LOUDNESS_FLOOR = -70.0
"""Blocks quieter than this never count, in LUFS."""
LOUDNESS_GATE = -10.0
"""Blocks this far below the mean of the others do not count, in LU."""

Pcm = NDArray[np.float32]

_K_RATE = 48_000
_K_STAGES = (
    (
        (1.53512485958697, -2.69169618940638, 1.19839281085285),
        (1.0, -1.69065929318241, 0.73248077421585),
    ),
    ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621)),
)
"""The two filters of BS.1770 at 48 kHz: numerator and denominator."""


def to_s16(pcm: Pcm) -> bytes:
    """Turn sound into 16-bit little-endian integers.

    Args:
        pcm: Sound, shape (samples,); what lies outside [-1, 1] is clipped.

    Returns:
        Two bytes per sample.
    """
    scaled = np.nan_to_num(pcm, nan=0.0, posinf=1.0, neginf=-1.0) * PCM_SCALE
    limited = np.clip(np.rint(scaled), -PCM_SCALE, PCM_SCALE - 1)
    return limited.astype("<i2").tobytes()


def from_s16(data: bytes) -> Pcm:
    """Turn 16-bit little-endian integers into sound.

    Args:
        data: Two bytes per sample; an odd last byte is no sample and is left out.

    Returns:
        Sound, shape (samples,).
    """
    whole = len(data) - len(data) % 2
    samples = np.frombuffer(data, dtype="<i2", count=whole // 2)
    return samples.astype(np.float32) / np.float32(PCM_SCALE)


def peak_safe(pcm: Pcm, ceiling: float = PEAK_CEILING) -> Pcm:
    """Turn a whole sound down until nothing clips.

    Args:
        pcm: A whole sound; a chunk of one would jump in level.
        ceiling: Highest magnitude allowed.

    Returns:
        The sound itself where it already fits, else a quieter copy.
    """
    peak = float(np.max(np.abs(pcm), initial=0.0))
    if peak <= ceiling:
        return pcm
    return (pcm * np.float32(ceiling / peak)).astype(np.float32)


def rms_dbfs(pcm: Pcm) -> float:
    """Measure the plain level of a sound.

    Args:
        pcm: Sound of any length.

    Returns:
        Root mean square in dB below full scale (a full-scale sine is -3.01).
    """
    if pcm.size == 0:
        return SILENCE_DB
    return _decibels(float(np.mean(np.square(pcm, dtype=np.float64))))


def loudness(pcm: Pcm) -> float:
    """Measure how loud a sound is to a listener.

    Args:
        pcm: A whole sound; shorter than a block, it is measured as one block.

    Returns:
        Integrated loudness in LUFS; ``SILENCE_DB`` where no block counts.
    """
    block = round(LOUDNESS_BLOCK_S * SAMPLE_RATE)
    if pcm.size == 0:
        return SILENCE_DB
    if pcm.size < block:
        blocks = np.asarray(pcm, dtype=np.float64)[np.newaxis]
    else:
        windows = np.lib.stride_tricks.sliding_window_view(pcm, block)
        blocks = windows[:: block // 4].astype(np.float64)
    power = _weighted_power(blocks)
    power = power[power > _from_lufs(LOUDNESS_FLOOR)]
    if power.size == 0:
        return SILENCE_DB
    gate = float(np.mean(power)) * 10 ** (LOUDNESS_GATE / 10)
    return _decibels(float(np.mean(power[power > gate]))) - 0.691


def _weighted_power(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean K-weighted power of each block, through its spectrum."""
    length = blocks.shape[1]
    spectrum = np.square(np.abs(np.fft.rfft(blocks)))
    spectrum[:, 1 : (length + 1) // 2] *= 2.0
    turns = np.exp(-2j * math.pi * np.fft.rfftfreq(length, 1 / SAMPLE_RATE) / _K_RATE)
    gain = np.ones(turns.shape)
    for numerator, denominator in _K_STAGES:
        above = np.polyval(numerator[::-1], turns)
        below = np.polyval(denominator[::-1], turns)
        gain = gain * np.square(np.abs(above / below))
    power: NDArray[np.float64] = spectrum @ gain / length**2
    return power


def _from_lufs(lufs: float) -> float:
    return float(10 ** ((lufs + 0.691) / 10))


def _decibels(power: float) -> float:
    return max(SILENCE_DB, 10 * math.log10(power)) if power > 0 else SILENCE_DB
