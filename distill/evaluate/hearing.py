"""The judge with a memory: no sound is listened to twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from distill.evaluate.keep import Kept, Shelf

JUDGES = {
    "text": "Whisper base, int8, beam 5, one temperature",
    "quality": "DNSMOS of speechmos, edges of 0.05 s, tiled to 9.1 s",
    "pitch": "pYIN of librosa, 60-600 Hz, 50 ms",
}
"""Who answers which question; another judge is another name, so nothing old is used."""


class Ear(Protocol):
    """What listens; :class:`distill.judge.client.Judge` does."""

    def hear(self, wav: Path, language: str = "zh") -> str:
        """Write down what a file says."""

    def quality(self, wav: Path) -> dict[str, float]:
        """Estimate how good a file sounds."""

    def pitch(self, wav: Path) -> list[float]:
        """Follow the pitch of a file, 100 values a second, 0 where unvoiced."""


class Hearing:
    """Asks the judge and remembers."""

    def __init__(self, ear: Ear, shelf: Shelf) -> None:
        """Take a judge and a memory.

        Args:
            ear: The judge.
            shelf: Where answers are kept.
        """
        self._ear = ear
        self._shelf = shelf

    def text(self, kept: Kept, language: str = "zh") -> str:
        """What is understood of a sound."""
        facts = self._facts("text", kept, language=language)
        found = self._shelf.answer(
            facts, lambda: {"text": self._ear.hear(kept.wav, language)}
        )
        return str(found["text"])

    def quality(self, kept: Kept) -> dict[str, float]:
        """How good a sound is: DNSMOS by name."""
        facts = self._facts("quality", kept)
        return self._shelf.answer(facts, lambda: self._ear.quality(kept.wav))

    def pitch(self, kept: Kept) -> list[float]:
        """The pitch of a sound in Hz, 100 values a second, 0 where unvoiced."""
        facts = self._facts("pitch", kept)
        found = self._shelf.answer(facts, lambda: {"hz": self._ear.pitch(kept.wav)})
        return [float(value) for value in found["hz"]]

    def _facts(self, want: str, kept: Kept, **more: str) -> dict[str, Any]:
        return {"want": want, "judge": JUDGES[want], "sound": kept.sha256, **more}
