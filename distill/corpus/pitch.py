"""The pitch of a sound, for a teacher that does not tell.

Candidates are peaks of the autocorrelation of a windowed frame over that of the window
(Boersma, 1993, "Accurate short-term analysis of the fundamental frequency"); the path
through them is the one that jumps least (Viterbi), being unvoiced included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import SAMPLE_RATE

Floats = NDArray[np.float64]

HOP = 300
"""Samples from one value to the next (80 a second)."""
WINDOW = 1200
"""Samples looked at: three periods of the lowest pitch."""
FFT = 4096
LOWEST_HZ, HIGHEST_HZ = 60.0, 600.0
CANDIDATES = 6
OCTAVE_COST = 0.02
"""What a candidate loses for each octave below the highest: the shortest of several
periods that fit alike is the right one."""
VOICING = 0.4
"""Strength from which a candidate beats silence."""
QUIET = 0.03
"""Frames with a smaller peak, as a share of the sound's, are hardly voiced."""
JUMP_COST = 0.35
"""For a jump of an octave between frames."""
SWITCH_COST = 0.14
"""For beginning or ending a voiced stretch."""


def pitch(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """Follow the pitch of a sound.

    Args:
        audio: ``[samples]``, a multiple of the hop.

    Returns:
        ``[samples / 300]`` in Hz, around the middle of each frame; 0 is unvoiced.
    """
    hertz, strength = _candidates(audio.astype(np.float64))
    return _path(hertz, strength).astype(np.float32)


def _candidates(audio: Floats) -> tuple[Floats, Floats]:
    """Pitches that each frame may have, and how well they fit; the first is none."""
    edge = (WINDOW - HOP) // 2
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(audio, edge), WINDOW)
    frames = frames[::HOP] - frames[::HOP].mean(-1, keepdims=True)
    window = np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(frames * window, FFT)) ** 2
    lags = np.arange(int(SAMPLE_RATE / LOWEST_HZ) + 2)
    bare = np.fft.irfft(np.abs(np.fft.rfft(window, FFT)) ** 2)[lags]
    raw = np.fft.irfft(power)[:, lags]
    fit = raw / np.maximum(raw[:, :1], 1e-9) / (bare / bare[0])
    inner = fit[:, 1:-1]
    is_peak = (inner > fit[:, :-2]) & (inner >= fit[:, 2:])
    is_peak &= lags[1:-1] >= SAMPLE_RATE / HIGHEST_HZ
    # A parabola through the three values finds the peak between two lags.
    bend = fit[:, :-2] - 2 * inner + fit[:, 2:]
    shift = 0.5 * (fit[:, :-2] - fit[:, 2:]) / np.where(bend == 0, 1, bend)
    hz = SAMPLE_RATE / (lags[1:-1] + np.clip(shift, -0.5, 0.5))
    height = inner - 0.25 * (fit[:, :-2] - fit[:, 2:]) * shift
    octaves = np.log2(HIGHEST_HZ / hz)
    score = np.where(is_peak, np.minimum(height, 1.0) - OCTAVE_COST * octaves, -1.0)
    order = np.argsort(-score, axis=-1)[:, : CANDIDATES - 1]
    loud = np.abs(frames).max(-1)
    silence = np.maximum(0, 2 - loud / max(float(loud.max()), 1e-9) / QUIET)
    none = np.zeros((len(frames), 1))
    hertz = np.concatenate([none, np.take_along_axis(hz, order, -1)], -1)
    best = np.take_along_axis(score, order, -1)
    return hertz, np.concatenate([VOICING + silence[:, None], best], -1)


def _path(hertz: Floats, strength: Floats) -> Floats:
    """The candidates that fit best and jump least."""
    voiced = hertz > 0
    octave = np.log2(np.where(voiced, hertz, 1.0))
    best = -strength[0]
    came = np.zeros(hertz.shape, np.int64)
    for frame in range(1, len(hertz)):
        both = voiced[frame - 1][:, None] & voiced[frame]
        one = voiced[frame - 1][:, None] ^ voiced[frame]
        jump = np.abs(octave[frame - 1][:, None] - octave[frame])
        reach = best[:, None] + np.where(both, JUMP_COST * jump, 0) + SWITCH_COST * one
        came[frame] = reach.argmin(0)
        best = reach.min(0) - strength[frame]
    path = np.empty(len(hertz), np.int64)
    at = int(best.argmin())
    for frame in range(len(hertz) - 1, -1, -1):
        path[frame] = at
        at = int(came[frame, at])
    followed: Floats = hertz[np.arange(len(hertz)), path]
    return followed
