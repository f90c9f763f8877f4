"""Golden phrases: what a pack must speak before it may speak in a shop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from common.audio.pcm import SAMPLE_RATE, rms_dbfs
from common.errors import YaoheError
from common.text import read
from common.voice.speak import Speaker

LOUDNESS_TOLERANCE_DB = 3.0
"""How far another runtime's level may be off."""


@dataclass(frozen=True)
class Measured:
    """A phrase as it was spoken.

    Attributes:
        duration_ms: Its length in milliseconds.
        loudness_db: Its level, RMS in dB relative to full scale.
    """

    duration_ms: int
    loudness_db: float


def measure(speaker: Speaker, text: str, voice: str, dialect: str) -> Measured:
    """Speak a phrase and measure it.

    Args:
        speaker: The voice.
        text: The phrase.
        voice: The logical voice.
        dialect: The dialect.

    Returns:
        Length and level.

    Raises:
        YaoheError: ``pack_invalid`` where the sound is empty or not finite.
    """
    symbols = read(text, dialect, lexicon=speaker.lexicon).symbols
    chunks = list(speaker.speak(symbols, voice=voice, dialect=dialect))
    sound = np.concatenate(chunks) if chunks else np.zeros(0, np.float32)
    if not sound.size or not np.isfinite(sound).all():
        raise YaoheError("pack_invalid", f"{speaker.pack.label} cannot say {text}")
    return Measured(round(1000 * sound.size / SAMPLE_RATE), round(rms_dbfs(sound), 2))


def check_golden(speaker: Speaker) -> None:
    """Speak all golden phrases of a pack and compare.

    Args:
        speaker: The pack's voices.

    Raises:
        YaoheError: ``pack_invalid`` with the first phrase that is not as it was when
            the pack was made.
    """
    for phrase in speaker.pack.manifest.golden:
        heard = measure(speaker, phrase.text, phrase.voice, phrase.dialect)
        off_ms = abs(heard.duration_ms - phrase.duration_ms)
        off_db = abs(heard.loudness_db - phrase.loudness_db)
        if off_ms > phrase.tolerance_ms or off_db > LOUDNESS_TOLERANCE_DB:
            raise YaoheError(
                "pack_invalid",
                f"{speaker.pack.label} says {phrase.text} in {heard.duration_ms} ms"
                f" at {heard.loudness_db} dB, packed with {phrase.duration_ms} ms"
                f" at {phrase.loudness_db} dB",
            )
