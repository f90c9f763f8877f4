"""Who may work now, who waits, who is sent away at once.

Rules: at most ``slots`` jobs work; at most ``capacity`` of a priority wait, the more
urgent first and then first come first served; one more is refused immediately with the
time after which to try again; a slot is given back however its job ends. Work that can
wait holds at most half of the slots, so that a caller never waits for all of them to
end a long text.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import IntEnum

from common.errors import YaoheError

FIRST_GUESS_S = 2.0
"""How long a job is thought to hold its slot before any has ended, seconds."""
SMOOTHING = 0.2
"""Weight of the newest job in the running mean."""
MIN_RETRY_S, MAX_RETRY_S = 1, 60


class Priority(IntEnum):
    """Who goes first."""

    CALL = 0
    """Somebody waits for the sound."""
    BATCH = 1
    """Nobody listens yet: long texts, phrases for the shops."""


class Admission:
    """A bounded queue in front of a bounded number of slots."""

    def __init__(
        self,
        slots: int | Callable[[], int],
        capacity: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the gate.

        Args:
            slots: Jobs that work at the same time, or who knows how many; call
                :meth:`wake` when there are more.
            capacity: Jobs of one priority that may wait.
            clock: Seconds that never run backwards.
        """
        self._slots = slots
        self._capacity = capacity
        self._clock = clock
        self._line: list[tuple[Priority, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._working: Counter[Priority] = Counter()
        self._mean_s = FIRST_GUESS_S

    @property
    def slots(self) -> int:
        """Jobs that may work at the same time, now."""
        return self._slots if isinstance(self._slots, int) else self._slots()

    @property
    def waiting(self) -> int:
        """Jobs that wait for a slot."""
        return len(self._line)

    @property
    def working(self) -> int:
        """Jobs that hold a slot."""
        return self._working.total()

    @asynccontextmanager
    async def slot(self, priority: Priority = Priority.CALL) -> AsyncIterator[None]:
        """Wait for a slot and hold it.

        Args:
            priority: Who goes first.

        Raises:
            YaoheError: ``queue_full`` at once, with ``retry_after_s``.
        """
        alike = sum(one == priority for one, _, _ in self._line)
        if alike >= self._capacity and not self._is_free(priority):
            raise YaoheError(
                "queue_full",
                f"{alike} requests are waiting already",
                retry_after_s=self.retry_after_s(),
            )
        await self._granted(priority)
        began = self._clock()
        try:
            yield
        finally:
            self._release(priority)
            self._mean_s += SMOOTHING * (self._clock() - began - self._mean_s)

    def wake(self) -> None:
        """Let those work whose turn it is."""
        while self._line and self._is_free(self._line[0][0]):
            priority, _, turn = heapq.heappop(self._line)
            self._working[priority] += 1
            turn.set_result(None)

    def retry_after_s(self) -> int:
        """When a place should be free, whole seconds from now."""
        ahead = (self.waiting + 1) / max(self.slots, 1) * self._mean_s
        return min(max(math.ceil(ahead), MIN_RETRY_S), MAX_RETRY_S)

    def _is_free(self, priority: Priority) -> bool:
        """Whether a job of a priority may begin."""
        slots = self.slots
        if self.working >= slots:
            return False
        is_batch = priority is Priority.BATCH
        return not is_batch or self._working[priority] < max(slots // 2, 1)

    async def _granted(self, priority: Priority) -> None:
        """Wait in line; the slot is held when this returns."""
        turn = asyncio.get_running_loop().create_future()
        place = (priority, next(self._numbers), turn)
        heapq.heappush(self._line, place)
        self.wake()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The slot came in the moment in which its job gave up.
                self._release(priority)
            else:
                self._line.remove(place)
                heapq.heapify(self._line)
            raise

    def _release(self, priority: Priority) -> None:
        self._working[priority] -= 1
        self.wake()
