"""One request on its way through those who may speak it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from common.errors import YaoheError
from common.protocol.synthesis import DEFAULT_DIALECT, SpeechRequest
from edge.readings import Read


@dataclass
class Turn:
    """One request on its way through the sources.

    Attributes:
        request: What is asked for, or what stands in for it.
        utterance: Its id.
        read: How it is read.
        key: Its phrase key.
        began: When it came, monotonic seconds.
        substituted: What stands in for what was asked.
        passed: Why the sources so far did not speak.
        failed: Digests of packs that failed in this turn.
        error: What the caller is told if nobody speaks.
    """

    request: SpeechRequest
    utterance: str
    read: Read
    key: str
    began: float
    substituted: str | None = None
    passed: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    error: YaoheError | None = None

    def reason(self, chosen: str) -> str:
        """Why the one who speaks does.

        Args:
            chosen: What speaks for it.

        Returns:
            That, and why the others did not.
        """
        return "; ".join([*self.passed, chosen])

    @property
    def is_mandarin_allowed(self) -> bool:
        """Whether Mandarin may stand in for the dialect."""
        return may_be_mandarin(self.request)

    def patience_s(self) -> float | None:
        """Seconds to first audio that the caller left; None where it did not say."""
        if self.request.deadline_ms is None:
            return None
        due = self.began + self.request.deadline_ms / 1000
        return max(0.0, due - time.monotonic())


def may_be_mandarin(request: SpeechRequest) -> bool:
    """Whether a request lets Mandarin stand in for another dialect."""
    return request.fallback == "mandarin" and request.dialect != DEFAULT_DIALECT
