"""How good a sound is, estimated by DNSMOS; runs in the judge's environment only."""

from __future__ import annotations

from typing import Any

RATE = 16_000
"""Samples per second that DNSMOS hears."""
SECONDS = 9.1
"""It hears nine seconds; shorter sounds are repeated."""
EDGE_S = 0.05
"""Silence left at both ends. It raises the score by about 0.2, and voices leave
between 0.05 and 1.2 seconds of it: only with the same edges are they comparable."""
SILENCE = 0.01
"""Magnitude below which the ends are silent."""
NAMES = {
    "overall": "ovrl_mos",
    "signal": "sig_mos",
    "background": "bak_mos",
    "p808": "p808_mos",
}
"""Our names of the scores, and the estimator's."""


def trimmed(sound: Any) -> Any:
    """A sound with :data:`EDGE_S` of its silence at both ends.

    Args:
        sound: ``[samples]`` at 16 kHz.

    Returns:
        The part that sounds; all of it where nothing does.
    """
    import numpy as np

    sounding = np.flatnonzero(np.abs(sound) > SILENCE)
    if not sounding.size:
        return sound
    edge = int(EDGE_S * RATE)
    return sound[max(0, int(sounding[0]) - edge) : int(sounding[-1]) + edge]


def quality(path: str) -> dict[str, float]:
    """Estimate how good a sound is.

    Args:
        path: A sound file.

    Returns:
        Opinion scores from 1 to 5: overall, signal, background, P.808.
    """
    import numpy as np
    from faster_whisper.audio import decode_audio
    from speechmos import dnsmos

    sound = trimmed(decode_audio(path, sampling_rate=RATE))
    wanted = int(SECONDS * RATE)
    tiled = np.tile(sound, -(-wanted // max(1, len(sound))))[:wanted]
    found = dnsmos.run(np.clip(tiled, -1.0, 1.0), RATE)
    return {ours: round(float(found[theirs]), 4) for ours, theirs in NAMES.items()}
