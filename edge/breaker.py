"""Whether the cloud is worth asking: a breaker fed by real calls and a slow probe.

Rules: a few failures in a row open it; while it is open nobody asks; then one more try
is worth it, and each failure doubles the rest, up to a minute; any success closes it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

FAILURES = 3
"""Failures in a row that open it."""
FIRST_REST_S = 2.0
MAX_REST_S = 60.0
JITTER = 0.2
"""Part of a rest that chance adds or takes: shops must not come back together."""


class Breaker:
    """Counts what happened lately."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Start closed.

        Args:
            clock: Seconds that never run backwards.
            chance: Gives numbers from 0 to 1.
        """
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._rest_s = 0.0
        self._retry_at = 0.0

    @property
    def is_closed(self) -> bool:
        """Whether calls pass."""
        return self._failures < FAILURES or self._clock() >= self._retry_at

    @property
    def says(self) -> str:
        """Its state in words, for the status page."""
        if self._failures < FAILURES:
            return "closed"
        return "trying" if self.is_closed else "open"

    def succeeded(self) -> None:
        """A call or a probe was answered."""
        self._failures = 0
        self._rest_s = 0.0

    def failed(self) -> None:
        """A call or a probe was not answered, or not in time."""
        self._failures += 1
        if self._failures < FAILURES:
            return
        self._rest_s = min(max(FIRST_REST_S, self._rest_s * 2), MAX_REST_S)
        spread = 1 + JITTER * (2 * self._chance() - 1)
        self._retry_at = self._clock() + self._rest_s * spread
