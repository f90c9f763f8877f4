"""A receipt with the rest of the story: who spoke it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common.audio.provenance import Provenance
from common.protocol.synthesis import Tier
from common.speech import Speech
from common.text.receipt import Receipt


@dataclass(frozen=True)
class Account(Receipt):
    """What a shop is told when it asks why it heard what it heard.

    Attributes:
        tier: Who began to speak.
        reason: Why policy chose that tier.
        substituted: What stood in for what was asked, if anything did.
        provenance: Where the sound comes from.
    """

    tier: Tier
    reason: str
    substituted: str | None
    provenance: Provenance

    @classmethod
    def of(cls, speech: Speech) -> Account:
        """The account of a speech."""
        receipt = speech.receipt
        return cls(
            receipt.utterance,
            receipt.reading,
            receipt.enforced,
            speech.tier,
            speech.reason,
            speech.substituted,
            speech.provenance,
        )

    def as_dict(self) -> dict[str, Any]:
        """The account as plain JSON."""
        return {
            **super().as_dict(),
            "tier": self.tier,
            "reason": self.reason,
            "substituted": self.substituted,
            "provenance": self.provenance.as_dict(),
        }
