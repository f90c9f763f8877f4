"""What a synthesis gives, the same on both tiers, before it becomes an answer.

A :class:`Speech` carries either a finished rendition or chunks that are still being
made, and with them everything that says what was spoken, by whom and why.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from common.audio.provenance import Provenance
from common.errors import MAX_QUOTED, YaoheError
from common.protocol.synthesis import SpeechRequest, Tier
from common.text.receipt import Reading, Receipt

if TYPE_CHECKING:
    from common.audio.opus import OpusMaster


Pauses = tuple[tuple[int, int], ...]
"""Ends of clauses: symbols before it, samples before it."""


def new_utterance() -> str:
    """A fresh utterance id, 32 hexadecimal digits."""
    return uuid.uuid4().hex


class Files(Protocol):
    """What a rendition was encoded to before, so that it is done once."""

    def find(self, name: Hashable) -> bytes | None:
        """The file that was kept under a name, if it is still there."""

    def keep(self, name: Hashable, file: bytes) -> None:
        """Keep a file as long as there is room."""


@dataclass(frozen=True)
class Whole:
    """A finished rendition.

    Attributes:
        duration_s: Its length in seconds.
        pcm: Samples in [-1, 1] at 24 kHz, mono, if they are at hand.
        opus: The Opus master, if it is at hand.
        files: Where files made of it are kept; None keeps none.
    """

    duration_s: float
    pcm: NDArray[np.float32] | None = None
    opus: OpusMaster | None = None
    files: Files | None = None

    def __post_init__(self) -> None:
        """Refuse a rendition without sound.

        Raises:
            ValueError: Neither samples nor a master are given.
        """
        if self.pcm is None and self.opus is None:
            raise ValueError("a whole rendition needs samples or a master")


@dataclass
class Speech:
    """One synthesis, begun or finished.

    Attributes:
        utterance: Id that runs through headers, frames, messages and logs.
        receipt: The reading, and whether the engine keeps to it.
        tier: Who began to speak.
        reason: Why policy chose this tier, in a few plain words.
        provenance: Where the sound comes from.
        whole: The finished rendition; else None.
        chunks: Samples in [-1, 1] as they are made, arrays of shape (n,); else None.
            Whoever stops listening closes it, and the work stops.
        substituted: What stands in for what was asked: a dialect, if the caller
            allowed it, or the engine's first voice for a caller who named none.
        first_audio_ms: Milliseconds from request to first audio, once known.
        tiers: Everyone who has spoken so far, in order; ``tier`` is the first.
        notes: What happened since it began, in a few plain words each.
        pauses: Finds out where clauses end: pairs of how many symbols of the reading
            and how many samples come before; None where the engine does not know.
    """

    utterance: str
    receipt: Receipt
    tier: Tier
    reason: str
    provenance: Provenance
    whole: Whole | None = None
    chunks: AsyncIterator[NDArray[np.float32]] | None = None
    substituted: str | None = None
    first_audio_ms: float | None = None
    tiers: list[Tier] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pauses: Callable[[], Awaitable[Pauses]] | None = None

    def __post_init__(self) -> None:
        """Hold to one form of sound.

        Raises:
            ValueError: Not exactly one of ``whole`` and ``chunks`` is given.
        """
        if (self.whole is None) == (self.chunks is None):
            raise ValueError("a speech is either whole or in chunks")
        self.tiers = self.tiers or [self.tier]


def require_speakable(reading: Reading, request: SpeechRequest) -> None:
    """Refuse a reading that must not become sound, before any voice is asked.

    Args:
        reading: What ``common.text.read`` made of the request's input.
        request: The request it belongs to.

    Raises:
        YaoheError: ``unreadable_text``, with the reading in ``data``, when characters
            stayed unread and the caller did not ask to skip them; ``nothing_to_say``
            when no syllable is left.
    """
    if reading.unread and request.on_unreadable == "fail":
        characters = "".join(gap.text for gap in reading.unread)
        raise YaoheError(
            "unreadable_text",
            # As a person would see them; repr escapes what no encoding can carry.
            f"nobody can read {characters[:MAX_QUOTED]!r}",
            param="input",
            data={"dialect": reading.dialect, **reading.as_dict()},
        )
    if reading.is_silent:
        raise YaoheError(
            "nothing_to_say", "the text holds nothing to say", param="input"
        )
