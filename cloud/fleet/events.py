"""What boxes report, once each, and what each box may forget.

Rules of this module:

* An event is (box, life, number). Numbers of a life rise by one, so one mark says what
  has arrived: all up to it, but for those that the box gave up itself.
* A box hears the mark only after the commit; below it nothing is asked for again, so
  old events may go from here and still count once.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable

from cloud.fleet.db import FleetDb
from common.protocol.repair import Heard
from common.protocol.reports import Event

KEEP_S = 30 * 24 * 3600
"""Events stay to be looked at for so long."""
KEEP_LIFE_S = 400 * 24 * 3600
"""A life that was silent for so long is forgotten."""


class Events:
    """Events of all boxes."""

    def __init__(self, db: FleetDb, now: Callable[[], float] = time.time) -> None:
        """Remember the parts.

        Args:
            db: Where they are kept.
            now: Seconds since 1970.
        """
        self._db = db
        self._now = now

    def take(
        self, db: sqlite3.Connection, box: str, event: Event
    ) -> tuple[bool, Heard]:
        """Note an event, once; runs in the caller's transaction.

        Args:
            db: The transaction's connection.
            box: Which box.
            event: What happened.

        Returns:
            Whether it is news, and what the box may forget after the commit.
        """
        now = int(self._now())
        name = (box, event.life)
        known = db.execute(
            "SELECT upto FROM lives WHERE box = ? AND life = ?", name
        ).fetchone()
        upto = known["upto"] if known else 0
        is_news = False
        if event.number > upto:
            added = db.execute(
                "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *(*name, event.number, event.kind, event.at, now),
                    json.dumps(event.body),
                ),
            )
            is_news = added.rowcount == 1
            upto = _reached(db, name, max(upto, event.oldest - 1))
        db.execute(
            "INSERT INTO lives VALUES (?, ?, ?, ?) ON CONFLICT (box, life) "
            "DO UPDATE SET upto = excluded.upto, heard = excluded.heard",
            (*name, upto, now),
        )
        db.execute("UPDATE boxes SET seen = ? WHERE box = ?", (now, box))
        return is_news, Heard(event.life, upto)

    def forget_old(self) -> None:
        """Forget events that nobody looks at any more; they still count once."""
        now = int(self._now())
        with self._db.change() as db:
            db.execute(
                "DELETE FROM events WHERE received < ? AND number <= "
                "coalesce((SELECT upto FROM lives WHERE lives.box = events.box "
                "AND lives.life = events.life), number)",
                (now - KEEP_S,),
            )
            db.execute("DELETE FROM lives WHERE heard < ?", (now - KEEP_LIFE_S,))


def _reached(db: sqlite3.Connection, name: tuple[str, str], upto: int) -> int:
    """The highest number up to which nothing is missing."""
    rows = db.execute(
        "SELECT number FROM events WHERE box = ? AND life = ? AND number > ? "
        "ORDER BY number",
        (*name, upto),
    )
    for row in rows:
        if row["number"] != upto + 1:
            break
        upto += 1
    return upto
