"""What a synthesis gives, the same on both tiers, before it becomes an answer.

A :class:`Speech` carries either a finished rendition or chunks that are still being
made, and with them everything that says what was spoken, by whom and why.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from common.audio.provenance import Provenance
from common.protocol.synthesis import Tier
from common.text.receipt import Receipt

if TYPE_CHECKING:
    from common.audio.opus import OpusMaster


@dataclass(frozen=True)
class Whole:
    """A finished rendition.

    Attributes:
        duration_s: Its length in seconds.
        pcm: Samples in [-1, 1] at 24 kHz, mono, if they are at hand.
        opus: The Opus master, if it is at hand.
    """

    duration_s: float
    pcm: NDArray[np.float32] | None = None
    opus: OpusMaster | None = None

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
        substituted: The dialect that stands in for the one asked, if the caller
            allowed it.
        first_audio_ms: Milliseconds from request to first audio, once known.
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

    def __post_init__(self) -> None:
        """Hold to one form of sound.

        Raises:
            ValueError: Not exactly one of ``whole`` and ``chunks`` is given.
        """
        if (self.whole is None) == (self.chunks is None):
            raise ValueError("a speech is either whole or in chunks")
