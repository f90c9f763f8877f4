"""How a passage is to be spoken: speed, pitch and volume, as marked-up text asks."""

from __future__ import annotations

from dataclasses import dataclass

from common.text.symbols import SPEED_ONE


@dataclass(frozen=True)
class Style:
    """A manner of speaking.

    Attributes:
        speed: Thousandths of the voice's own.
        pitch: Shift in cents.
        volume: Gain in hundredths of a decibel.
    """

    speed: int = SPEED_ONE
    pitch: int = 0
    volume: int = 0


PLAIN = Style()
