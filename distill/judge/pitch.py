"""The pitch that is heard in a sound; runs in the judge's environment only.

Probabilistic YIN (Mauch and Dixon, 2014) as librosa has it: it knows nothing of what
the voice meant to say.
"""

from __future__ import annotations

PER_SECOND = 100
"""Values a second."""
LOWEST_HZ, HIGHEST_HZ = 60.0, 600.0
WINDOW_S = 0.05
"""Three periods of the lowest pitch."""


def pitch(path: str) -> list[float]:
    """Follow the pitch of a sound.

    Args:
        path: A sound file.

    Returns:
        Hertz, :data:`PER_SECOND` of them; value ``k`` is heard around ``k / 100`` s;
        0 is unvoiced.
    """
    import librosa
    import numpy as np

    sound, rate = librosa.load(path, sr=None, mono=True)
    hz, voiced, _ = librosa.pyin(
        sound,
        sr=rate,
        fmin=LOWEST_HZ,
        fmax=HIGHEST_HZ,
        frame_length=int(WINDOW_S * rate),
        hop_length=int(rate) // PER_SECOND,
    )
    return [round(float(value), 2) for value in np.where(voiced, hz, 0.0)]
