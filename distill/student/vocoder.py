"""The vocoder's signal half: harmonic source and noise, shaped by masks.

``sound = istft(stft(source) * harmonic_mask + noise * noise_mask)``. The source is a
band-limited pulse train whose phase is the integral of the pitch (sum of equal cosines
up to the Nyquist frequency, in closed form: the Dirichlet kernel). Slices, two to a
frame, are centred at ``150 k + 75`` and the window sum is the constant of the interior,
so a chunk with a frame of context equals the whole. :mod:`common.voice.source` is the
same in numpy.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from distill.student.model import BINS, FFT, HOP, SLICE

SAMPLE_RATE = 24_000
EDGE = (FFT - SLICE) // 2
"""Samples by which a window reaches over its slice on each side."""
WINDOW_SUM = 1.5
"""Sum of squared Hann windows at a hop of a quarter window."""


def window() -> Tensor:
    """The periodic Hann window of 600 samples."""
    return torch.hann_window(FFT)


def interpolate(frames: Tensor) -> Tensor:
    """Bring frame values to sample rate, linear between frame centres.

    Args:
        frames: ``[batch, frames]``.

    Returns:
        ``[batch, frames * 300]``; constant outside the first and last centre.
    """
    return torch.nn.functional.interpolate(
        frames.unsqueeze(1), scale_factor=HOP, mode="linear", align_corners=False
    ).squeeze(1)


def pulse_train(pitch_hz: Tensor, voiced: Tensor) -> Tensor:
    """Make the harmonic source.

    Args:
        pitch_hz: ``[batch, frames]`` in Hz, continuous through unvoiced frames.
        voiced: ``[batch, frames]`` in 0..1.

    Returns:
        ``[batch, frames * 300]``; each harmonic has the amplitude that gives the train
        unit power.
    """
    hz = interpolate(pitch_hz)
    phase = torch.cumsum(hz.double() / SAMPLE_RATE, -1)
    phase = ((phase - torch.floor(phase)) * (2 * math.pi)).float()
    count = torch.floor(SAMPLE_RATE / 2 / hz)
    half = phase / 2
    below = torch.sin(half)
    safe = torch.where(below.abs() < 1e-4, torch.full_like(below, 1e-4), below)
    kernel = torch.sin((count + 0.5) * phase) / (2 * safe) - 0.5
    kernel = torch.where(below.abs() < 1e-4, count, kernel)
    return kernel * torch.sqrt(2 / count) * interpolate(voiced)


def spectrum(sound: Tensor) -> Tensor:
    """Spectrum of centred slices.

    Args:
        sound: ``[batch, slices * 150]``.

    Returns:
        Complex ``[batch, slices, 301]``.
    """
    padded = torch.nn.functional.pad(sound, (EDGE, EDGE))
    return torch.fft.rfft(padded.unfold(-1, FFT, SLICE) * window())


def overlap_add(spectra: Tensor) -> Tensor:
    """Turn slices back into sound.

    Args:
        spectra: Complex ``[batch, slices, 301]``.

    Returns:
        ``[batch, slices * 150]``.
    """
    slices = torch.fft.irfft(spectra, n=FFT) * window()
    batch, count, _ = slices.shape
    length = (count - 1) * SLICE + FFT
    sound = torch.nn.functional.fold(
        slices.transpose(1, 2),
        output_size=(1, length),
        kernel_size=(1, FFT),
        stride=(1, SLICE),
    ).reshape(batch, length)
    return sound[:, EDGE : EDGE + count * SLICE] / WINDOW_SUM


def render(harmonic: Tensor, noise: Tensor, source: Tensor, hiss: Tensor) -> Tensor:
    """Shape source and noise into sound.

    Args:
        harmonic: Mask of the source, ``[batch, frames, 602]``.
        noise: Mask of the noise, the same shape.
        source: ``[batch, frames * 300]`` from :func:`pulse_train`.
        hiss: Complex unit-variance noise, ``[batch, slices, 301]``.

    Returns:
        ``[batch, frames * 300]``.
    """
    shape = hiss.shape
    return overlap_add(
        spectrum(source) * harmonic.reshape(shape) + hiss * noise.reshape(shape)
    )


def draw_hiss(batch: int, frames: int, random: torch.Generator) -> Tensor:
    """Complex noise of unit variance.

    Args:
        batch: Sentences.
        frames: Frames of each.
        random: Source of chance.

    Returns:
        ``[batch, slices, 301]``.
    """
    shape = (batch, frames * (HOP // SLICE), BINS)
    return torch.randn(shape, dtype=torch.complex64, generator=random)
