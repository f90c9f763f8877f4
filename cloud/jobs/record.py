"""One long text that is spoken in the background, and what its owner is told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from common.audio.containers import media_type
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.protocol.synthesis import LongSpeechRequest

State = Literal["queued", "running", "done", "failed", "cancelled"]

SYLLABLES_PER_S = 4.5
"""Usual speed of speech; only the guess of what is left stands on it."""
MOST_GUESSED = 0.99
"""A guess never says that all is done."""


@dataclass(eq=False)
class JobRecord:
    """A job.

    Attributes:
        number: Its id, the utterance's too: 32 hexadecimal digits that nobody guesses.
        request: What was asked.
        created: When, seconds since 1970.
        state: How far it is.
        samples: Sound made so far.
        syllables: What is to be said, once it was read.
        error: Why it failed, if it did.
        path: The finished file, if there is one.
        size: Its bytes.
        expires: When it is forgotten, seconds since 1970; None while it runs.
        task: What speaks it.
    """

    number: str
    request: LongSpeechRequest
    created: float
    state: State = "queued"
    samples: int = 0
    syllables: int = 0
    error: YaoheError | None = None
    path: Path | None = None
    size: int = 0
    expires: float | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def progress(self) -> float:
        """How much is spoken, 0-1: guessed from the usual speed until it is done."""
        if self.state == "done":
            return 1.0
        if not self.syllables:
            return 0.0
        expected_s = self.syllables / SYLLABLES_PER_S / self.request.speed
        return min(self.samples / SAMPLE_RATE / expected_s, MOST_GUESSED)

    def body(self) -> dict[str, Any]:
        """The job as plain JSON."""
        told: dict[str, Any] = {
            "id": self.number,
            "object": "job",
            "status": self.state,
            "progress": round(self.progress, 3),
            "characters": len(self.request.input),
            "duration_ms": round(self.samples * 1000 / SAMPLE_RATE),
            "created_at": round(self.created),
            "expires_at": None if self.expires is None else round(self.expires),
            "receipt": f"/v1/receipts/{self.number}",
        }
        if self.state == "done":
            told["sound"] = {
                "url": f"/v1/jobs/{self.number}/sound",
                "media_type": media_type(self.request.response_format),
                "bytes": self.size,
            }
        if self.error is not None:
            told |= self.error.as_body()
        return told
