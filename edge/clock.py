"""Time on a box that may have no clock: wall time with a floor.

Rules: time never goes below the floor, which is the highest of the release's own date
and the latest time the box has lived through; durations use the monotonic clock. A
clock that stands in 1970 is reported, and the shop speaks all the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import sqlite_utils
from sqlite_utils import Migrations

from edge.db import DatabaseGone, Store

RELEASE_FLOOR_S = 1_764_547_200
"""1 December 2025: no box with this code has lived earlier, seconds since 1970."""
SAVE_EVERY_S = 600.0
"""How often the floor is written."""
TOLERANCE_S = 120.0
"""A clock this much behind the floor is only imprecise."""

migrations = Migrations("state")


@migrations()
def m001_facts(db: sqlite_utils.Database) -> None:
    """Single facts by name."""
    db.table("facts").create({"name": str, "value": float}, pk="name")


@dataclass(frozen=True)
class ClockState:
    """What is known about the time.

    Attributes:
        wall_s: What the machine's clock says, seconds since 1970.
        floor_s: The time it cannot be earlier than.
        is_behind: Whether the machine's clock is clearly wrong.
    """

    wall_s: float
    floor_s: float
    is_behind: bool


class Clock:
    """Wall time that is never before the floor."""

    def __init__(
        self, store: Store | None = None, wall: Callable[[], float] = time.time
    ) -> None:
        """Start with the release's floor.

        Args:
            store: Where the floor is kept over restarts, if anywhere.
            wall: The machine's clock, seconds since 1970.
        """
        self._store = store
        self._wall = wall
        self._floor = float(RELEASE_FLOOR_S)

    def load(self) -> None:
        """Take up the floor that an earlier run has written, if it can be read."""
        if self._store is None:
            return
        try:
            rows = self._store.read("SELECT value FROM facts WHERE name = 'time_floor'")
        except DatabaseGone:
            return
        if rows:
            self._floor = max(self._floor, rows[0]["value"])

    def now(self) -> float:
        """Seconds since 1970, never before the floor."""
        return max(self._floor, self._wall())

    def save(self) -> None:
        """Raise the floor to now and write it; a full disk only loses the raise."""
        self._floor = floor = self.now()
        if self._store is None:
            return

        def change(db: sqlite_utils.Database) -> None:
            db.table("facts").upsert({"name": "time_floor", "value": floor}, pk="name")

        self._store.write(change)

    def state(self) -> ClockState:
        """What is known about the time now."""
        wall = self._wall()
        return ClockState(wall, self._floor, wall < self._floor - TOLERANCE_S)
