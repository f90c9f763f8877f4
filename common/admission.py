"""Who may work now, who waits, who is sent away at once.

Rules: at most ``slots`` jobs work and at most ``capacity`` wait, first come first
served; one more is refused immediately with the time after which to try again; a slot
is given back however its job ends.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from common.errors import YaoheError

FIRST_GUESS_S = 2.0
"""How long a job is thought to hold its slot before any has ended, seconds."""
SMOOTHING = 0.2
"""Weight of the newest job in the running mean."""
MIN_RETRY_S, MAX_RETRY_S = 1, 60


class Admission:
    """A bounded queue in front of a bounded number of slots."""

    def __init__(
        self,
        slots: int,
        capacity: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the gate.

        Args:
            slots: Jobs that work at the same time.
            capacity: Jobs that may wait.
            clock: Seconds that never run backwards.
        """
        self._slots = slots
        self._capacity = capacity
        self._clock = clock
        self._free = asyncio.Semaphore(slots)
        self._mean_s = FIRST_GUESS_S
        self.waiting = 0
        self.working = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it.

        Raises:
            YaoheError: ``queue_full`` at once, with ``retry_after_s``.
        """
        if self.working + self.waiting >= self._slots + self._capacity:
            raise YaoheError(
                "queue_full",
                f"{self.waiting} requests are waiting already",
                retry_after_s=self.retry_after_s(),
            )
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.working += 1
        began = self._clock()
        try:
            yield
        finally:
            self.working -= 1
            self._free.release()
            self._mean_s += SMOOTHING * (self._clock() - began - self._mean_s)

    def retry_after_s(self) -> int:
        """When a place should be free, whole seconds from now."""
        ahead = (self.waiting + 1) / self._slots * self._mean_s
        return min(max(math.ceil(ahead), MIN_RETRY_S), MAX_RETRY_S)
