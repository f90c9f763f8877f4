"""What the cloud streamed, kept so that the box says it by itself next time.

Rules of this module:

* Only what may be trusted to say the right thing: an engine that speaks our symbols and
  read them as the box does, with a voice whose signature the cloud checked.
* Only what came to its end from the cloud alone; what the box finished is not the
  cloud's recording.
* A sound that came over a socket carries no signature of the chain: it stands where the
  cloud stands in the order, never before a pack that may speak.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from common.audio.pcm import SAMPLE_RATE, Pcm
from common.speech import Speech
from common.text import RULES_VERSION
from common.text.symbols import TABLE_VERSION

if TYPE_CHECKING:
    from edge.turn import Turn

QUALITY = 0
"""Rank of such a rendition: what a stream was worth is not told."""
MAX_S = 30.0
"""Longer speech is spoken and not kept."""

Keep = Callable[[Pcm], None]
"""Takes all samples of a finished speech."""


def reads_alike(turn: Turn, speech: Speech) -> bool:
    """Whether the cloud's symbols are ours, so that its places mean ours.

    Args:
        turn: The request as the box reads it.
        speech: The cloud's speech.
    """
    origin, ours = speech.provenance, turn.read.reading
    return (
        origin.table_version == TABLE_VERSION
        and origin.rules_version == RULES_VERSION
        and speech.receipt.reading.dialect == ours.dialect
        and speech.receipt.reading.surface == ours.surface
    )


def may_be_kept(turn: Turn, speech: Speech) -> bool:
    """Whether a speech of the cloud may be said again from the cache.

    Args:
        turn: The request as the box reads it.
        speech: The cloud's speech.
    """
    return (
        speech.receipt.enforced
        and speech.provenance.verified
        and speech.substituted is None
        and reads_alike(turn, speech)
    )


class WriteBack(AsyncIterator[Pcm]):
    """Passes a speech's sound on, and keeps it when it came to its end."""

    def __init__(self, speech: Speech, keep: Keep, max_s: float = MAX_S) -> None:
        """Stand between a speech and its listener.

        Args:
            speech: A speech in chunks.
            keep: Takes the whole of it.
            max_s: Longest sound that is kept, in seconds.

        Raises:
            ValueError: The speech is whole already.
        """
        if speech.chunks is None:
            raise ValueError("only what is still being spoken can be listened to")
        self._speech = speech
        self._chunks = speech.chunks
        self._keep = keep
        self._left = round(max_s * SAMPLE_RATE)
        self._heard: list[Pcm] = []

    async def __anext__(self) -> Pcm:
        """The next samples."""
        try:
            chunk = await self._chunks.__anext__()
        except StopAsyncIteration:
            is_clouds = self._speech.tiers == ["cloud"] and not self._speech.notes
            if is_clouds and self._heard and self._left >= 0:
                self._keep(np.concatenate(self._heard))
            self._heard = []
            raise
        self._left -= chunk.size
        if self._left >= 0:
            self._heard.append(chunk)
        else:
            self._heard = []
        return chunk

    async def aclose(self) -> None:
        """Listen no more; what was not heard to its end is not kept."""
        self._heard = []
        close: Any = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()
