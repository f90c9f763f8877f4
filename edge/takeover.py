"""A sentence that the cloud began and the box finishes.

Rules:

* Once the first clause is out, the cloud's sound is given on clause by clause, so that
  the box goes on exactly where a clause ends: nothing is left out, nothing said twice.
  A cloud that fails in the first clause, or does not tell where clauses end, is begun
  again from the start of what was heard in part.
* The box waits as long as the listener still has something to hear, not longer.
* Who finished, and why, stands in the speech's ``tiers`` and ``notes``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.audio.pcm import SAMPLE_RATE, Pcm
from common.errors import YaoheError
from common.protocol.synthesis import Tier
from common.speech import Pauses, Speech
from edge.cloud_sound import CloudSound

CUT_PATIENCE_S = 0.3
"""Shortest wait for a socket that broke to come back."""
PATIENCE_S = 1.0
"""Shortest wait for a cloud that is slow."""
LONGEST_PATIENCE_S = 8.0
"""Longest wait, however much the listener still has to hear."""
MARGIN_S = 0.2
"""How long before the listener runs dry the box begins."""


@dataclass(frozen=True)
class Rest:
    """The box's way to finish.

    Attributes:
        chunks: Sound from the asked place on, its first chunk at hand.
        tier: Who speaks.
        voice: In which voice.
        substituted: That voice, where it is not the one asked for.
    """

    chunks: AsyncIterator[Pcm]
    tier: Tier
    voice: str
    substituted: str | None = None


GoOn = Callable[[int], Awaitable[Rest | None]]
"""Speaks from a symbol of the reading on; None where nothing is left to say."""


class Takeover(AsyncIterator[Pcm]):
    """The cloud's sound, and the box's where the cloud leaves off."""

    def __init__(
        self,
        speech: Speech,
        sound: CloudSound,
        go_on: GoOn,
        pauses: Pauses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Stand between the cloud and the listener.

        Args:
            speech: Is told what happens.
            sound: The cloud's sound.
            go_on: The box's way to finish.
            pauses: Where clauses end, as far as the cloud tells.
            clock: Seconds that never run backwards.
        """
        self._speech = speech
        self._sound = sound
        self._go_on = go_on
        self._ends = sorted(pauses, key=lambda pause: pause[1])
        self._clock = clock
        self._held: list[Pcm] = []
        self._came = 0
        self._given = 0
        self._began: float | None = None
        self._is_over = False
        self._rest: AsyncIterator[Pcm] | None = None

    async def __anext__(self) -> Pcm:
        """The next samples, as soon as they may be heard."""
        while self._rest is None:
            ready = self._ready()
            if ready is not None:
                return ready
            if self._is_over:
                raise StopAsyncIteration
            try:
                chunk = await asyncio.wait_for(
                    self._sound.__anext__(), self._patience_s()
                )
            except StopAsyncIteration:
                self._is_over = True
            except asyncio.TimeoutError:
                cause = "its socket broke" if self._sound.is_cut else "it fell silent"
                await self._take_over(YaoheError("voice_unavailable", cause))
            except YaoheError as error:
                await self._take_over(error)
            else:
                self._held.append(chunk)
                self._came += chunk.size
        return await self._rest.__anext__()

    def _ready(self) -> Pcm | None:
        """What may be heard of what has come."""
        count = self._safe() - self._given
        if count <= 0:
            return None
        pcm = np.concatenate(self._held)
        self._held = [pcm[count:]]
        self._given += count
        if self._began is None:
            self._began = self._clock()
        return pcm[:count]

    def _safe(self) -> int:
        """Samples that may be heard: all of the first clause, then whole clauses."""
        first = self._ends[0][1] if self._ends else None
        if self._is_over or first is None or self._came <= first:
            return self._came
        return max(samples for _, samples in self._ends if samples <= self._came)

    def _patience_s(self) -> float:
        """How long the next of the cloud's sound is worth waiting for."""
        least = CUT_PATIENCE_S if self._sound.is_cut else PATIENCE_S
        if self._began is None:
            return least
        heard_until = self._began + self._given / SAMPLE_RATE
        left = heard_until - self._clock() - MARGIN_S
        return min(max(left, least), LONGEST_PATIENCE_S)

    async def _take_over(self, cause: YaoheError) -> None:
        """Let the box finish.

        Args:
            cause: Why the cloud does not.

        Raises:
            YaoheError: The cause, where the box cannot either.
        """
        await self._sound.aclose()
        whole = [end for end in self._ends if end[1] <= self._given]
        symbols, samples = whole[-1] if whole else (0, 0)
        rest = await self._go_on(symbols)
        heard_s = self._given / SAMPLE_RATE
        fell = f"the cloud stopped after {heard_s:.2f} s ({cause.message})"
        if rest is None:
            if samples < self._given or not whole:
                raise cause
            self._speech.notes.append(f"{fell} with everything said")
            self._is_over, self._held = True, []
            return
        where = f"clause {len(whole) + 1}" if whole else "the beginning"
        self._speech.tiers.append(rest.tier)
        self._speech.notes.append(f"{fell}; from {where} on: {rest.voice}")
        self._speech.substituted = rest.substituted or self._speech.substituted
        self._rest = rest.chunks

    async def aclose(self) -> None:
        """Listen no more."""
        await self._sound.aclose()
        close: Any = getattr(self._rest, "aclose", None)
        if close is not None:
            await close()
