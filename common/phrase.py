"""The key of a phrase: one name for one thing to say, on every machine.

Rules of this module:

* The key is independent of engine, pack and seed; those describe a *rendition*, and
  several renditions may share a key.
* Everything hashed is an integer or a string in one array, so its CBOR is canonical
  whatever library writes it. ``tests/contract`` holds golden keys; a change of the form
  raises ``KEY_FORMAT`` and makes every cached phrase another one.
* The voice is a logical name with aliases resolved, never a client's spelling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import cbor2

from common.text.symbols import SPEED_ONE, Symbol

KEY_FORMAT = 1
KEY_BYTES = 16
"""Bytes of SHA-256 that are kept."""
CENTS_PER_SEMITONE = 100
STEPS_PER_DECIBEL = 100


def phrase_key(
    reading_symbols: Sequence[Symbol],
    *,
    voice: str,
    dialect: str,
    speed: float = 1.0,
    pitch: float = 0.0,
    volume: float = 0.0,
) -> str:
    """Name what will be said.

    Args:
        reading_symbols: Symbols of the reading, with start and end marks.
        voice: Logical voice.
        dialect: ``zh``, ``gd`` or ``sc``.
        speed: Factor on the voice's own speed; counts in thousandths.
        pitch: Shift in semitones; counts in cents.
        volume: Gain in decibels; counts in hundredths.

    Returns:
        32 hexadecimal digits.
    """
    return hashlib.sha256(
        key_bytes(
            reading_symbols,
            voice=voice,
            dialect=dialect,
            speed=round(speed * SPEED_ONE),
            pitch=round(pitch * CENTS_PER_SEMITONE),
            volume=round(volume * STEPS_PER_DECIBEL),
        )
    ).hexdigest()[: 2 * KEY_BYTES]


def key_bytes(
    reading_symbols: Sequence[Symbol],
    *,
    voice: str,
    dialect: str,
    speed: int,
    pitch: int,
    volume: int,
) -> bytes:
    """The canonical bytes under a phrase key.

    Args:
        reading_symbols: Symbols of the reading, with start and end marks.
        voice: Logical voice.
        dialect: ``zh``, ``gd`` or ``sc``.
        speed: Thousandths of the voice's own.
        pitch: Cents.
        volume: Hundredths of a decibel.

    Returns:
        CBOR of ``[KEY_FORMAT, voice, dialect, speed, pitch, volume, symbols]``, each
        symbol the array of its nine integers.
    """
    symbols = [list(symbol) for symbol in reading_symbols]
    form = [KEY_FORMAT, voice, dialect, speed, pitch, volume, symbols]
    return cbor2.dumps(form, canonical=True)
