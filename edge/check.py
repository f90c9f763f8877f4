"""One finding of the doctor: what was looked at, what was found, what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        verdict: ``ok``, ``warn`` or ``fail``.
        says: What was found.
        advice: What to do about it; empty when all is well.
    """

    name: str
    verdict: Verdict
    says: str
    advice: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The finding as plain JSON."""
        return asdict(self)
