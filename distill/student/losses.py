"""Losses, and the mel spectrum that the student learns."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from distill.student.model import HOP, MELS
from distill.student.vocoder import SAMPLE_RATE

MEL_LOW_HZ, MEL_HIGH_HZ = 20.0, 11_500.0
FLOOR = 1e-5
MEL_WINDOW, MEL_FFT = 600, 1200
"""Samples of the mel spectrum's window, and what it is padded to: without padding the
lowest filters would lie between two bins."""
MEL_BINS = MEL_FFT // 2 + 1
RESOLUTIONS = (256, 512, 1024, 2048)
"""Windows of the spectral loss, in samples; hops are a quarter of them."""


@lru_cache(maxsize=1)
def mel_filters() -> Tensor:
    """Triangular filters on the mel scale ``2595 log10(1 + f / 700)``.

    Returns:
        ``[601, 80]``; each filter has unit area over bins.
    """

    def mel(hz: Tensor) -> Tensor:
        return 2595 * torch.log10(1 + hz / 700)

    low, high = mel(torch.tensor([MEL_LOW_HZ, MEL_HIGH_HZ])).tolist()
    edges = 700 * (10 ** (torch.linspace(low, high, MELS + 2) / 2595) - 1)
    bins = torch.linspace(0, SAMPLE_RATE / 2, MEL_BINS).unsqueeze(1)
    rise = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    filters = torch.clamp(torch.minimum(rise, fall), min=0)
    return filters / filters.sum(0, keepdim=True).clamp(min=1e-9)


def log_mel(sound: Tensor) -> Tensor:
    """Natural logarithm of mel magnitudes.

    Args:
        sound: ``[batch, frames * 300]``.

    Returns:
        ``[batch, frames, 80]``.
    """
    edge = (MEL_WINDOW - HOP) // 2
    padded = torch.nn.functional.pad(sound, (edge, edge))
    # Twice the window: a harmonic is as high as in a window of 1200 samples.
    frames = padded.unfold(-1, MEL_WINDOW, HOP) * (2 * torch.hann_window(MEL_WINDOW))
    spectra = torch.fft.rfft(frames, n=MEL_FFT)
    return torch.log(spectra.abs() @ mel_filters() + FLOOR)


def spectral_distance(ours: Tensor, theirs: Tensor) -> Tensor:
    """Log and linear magnitude distance at several resolutions.

    Args:
        ours: ``[batch, samples]``.
        theirs: The same shape.

    Returns:
        A scalar.
    """
    total = ours.new_zeros(())
    for size in RESOLUTIONS:
        shape = torch.hann_window(size)
        spectra = [
            torch.stft(
                sound, size, size // 4, window=shape, return_complex=True, center=True
            ).abs()
            for sound in (ours, theirs)
        ]
        mine, other = spectra
        logs = (torch.log(mine + 1e-3) - torch.log(other + 1e-3)).abs().mean()
        linear = (mine - other).abs().sum() / other.abs().sum().clamp(min=1e-3)
        total = total + logs + linear
    return total / len(RESOLUTIONS)
