"""Events and counts on the box's disk, until the cloud says that it has them.

Rules of this module:

* An event is (life, number). A life is one process on one database: a copied disk and a
  database that was rebuilt both begin another, so that no name ever means two events.
* Counts move from a table into an event in one transaction: they are sent once, however
  often the box is killed.
* Room is bounded. A box that is long alone goes on adding up its counts instead of
  making more reports of them; of other events the oldest are given up, and their number
  is told.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import sqlite_utils

from common.protocol.repair import Heard
from common.protocol.reports import Event
from edge.db import Store

COUNTS = "spoken"
"""Kind of the events that report counts."""
MAX_REPORTS = 20
"""Reports of counts that wait; later counts are added up until there is room."""
MAX_HEAT = 100
"""Phrases of one report."""
MAX_HEAT_BYTES = 40 * 1024
"""Of one report's phrases; the rest goes into the next."""
MAX_PHRASES = 10_000
"""Phrases that are told apart while nobody asks; the least played are given up."""
LIFE_BYTES = 8


class Spoken(NamedTuple):
    """What was spoken, as the cloud will hear of it.

    Attributes:
        key: The phrase key, which stands on the symbols.
        text: What was asked for.
        voice: Logical voice.
        dialect: The dialect.
        rules: Version of the text rules.
        lexicon: Digest of the store lexicon, hex; empty without one.
    """

    key: str
    text: str
    voice: str
    dialect: str
    rules: int
    lexicon: str


class EventLog:
    """Events that wait for the cloud, and counts that wait to become events."""

    def __init__(self, store: Store, max_events: int) -> None:
        """Begin a life.

        Args:
            store: The line's database.
            max_events: Events that may wait; the oldest are given up.
        """
        self._store = store
        self._max_events = max_events
        self._process = secrets.token_hex(LIFE_BYTES)

    def add(self, kind: str, at: int, body: Mapping[str, Any]) -> Future[None]:
        """Put an event in line for the cloud.

        Args:
            kind: What happened.
            at: Seconds since 1970.
            body: Its facts, plain JSON.
        """
        content = json.dumps(body)

        def change(db: sqlite_utils.Database) -> None:
            self._insert(db, kind, at, content)

        return self._store.write(change)

    def add_counts(
        self, heat: Mapping[Spoken, int], tiers: Mapping[str, int]
    ) -> Future[None]:
        """Add what was counted in memory.

        Args:
            heat: Plays by phrase.
            tiers: Utterances by tier.
        """

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "INSERT INTO heat VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE "
                "SET plays = plays + excluded.plays",
                [
                    (spoken.key, json.dumps(spoken._asdict()), plays)
                    for spoken, plays in heat.items()
                ],
            )
            db.conn.execute(
                "DELETE FROM heat WHERE key IN (SELECT key FROM heat "
                "ORDER BY plays DESC LIMIT -1 OFFSET ?)",
                (MAX_PHRASES,),
            )
            db.conn.executemany(
                "INSERT INTO spoken VALUES (?, ?) ON CONFLICT (tier) DO UPDATE "
                "SET count = count + excluded.count",
                list(tiers.items()),
            )

        return self._store.write(change)

    def report_counts(self, at: int) -> Future[bool]:
        """Turn the counts into one event, unless enough of them wait already.

        Args:
            at: Seconds since 1970.

        Returns:
            Whether an event was made.
        """

        def change(db: sqlite_utils.Database) -> bool:
            reports = db.conn.execute(
                "SELECT count(*) FROM events WHERE kind = ?", (COUNTS,)
            ).fetchone()[0]
            hot = db.conn.execute(
                "SELECT key, about, plays FROM heat ORDER BY plays DESC LIMIT ?",
                (MAX_HEAT,),
            ).fetchall()
            tiers = dict(db.conn.execute("SELECT tier, count FROM spoken").fetchall())
            if reports >= MAX_REPORTS or not (hot or tiers):
                return False
            phrases: list[dict[str, Any]] = []
            told: list[tuple[str]] = []
            size = 0
            for key, about, plays in hot:
                size += len(about)
                if phrases and size > MAX_HEAT_BYTES:
                    break
                phrases.append(json.loads(about) | {"plays": plays})
                told.append((key,))
            body = json.dumps({"phrases": phrases, "tiers": tiers})
            self._insert(db, COUNTS, at, body)
            db.conn.executemany("DELETE FROM heat WHERE key = ?", told)
            db.conn.execute("DELETE FROM spoken")
            return True

        return self._store.write(change)

    def waiting(self, limit: int) -> list[Event]:
        """The oldest events that the cloud has not acknowledged.

        Args:
            limit: Most events.
        """
        rows = self._store.read(
            "SELECT *, (SELECT min(number) FROM events AS first "
            "WHERE first.life = events.life) AS oldest "
            "FROM events ORDER BY number LIMIT ?",
            (limit,),
        )
        return [
            Event(
                life=row["life"],
                number=row["number"],
                oldest=row["oldest"],
                kind=row["kind"],
                at=row["at"],
                body=json.loads(row["body"]),
            )
            for row in rows
        ]

    def count_waiting(self) -> tuple[int, int]:
        """Events that wait, and events that were given up."""
        (row,) = self._store.read(
            "SELECT (SELECT count(*) FROM events) AS waiting, "
            "(SELECT value FROM facts WHERE name = 'dropped') AS dropped"
        )
        return row["waiting"], int(row["dropped"] or 0)

    def heard(self, told: Sequence[Heard]) -> Future[int]:
        """Forget events that the cloud has.

        Args:
            told: What the cloud says; lives of others mean nothing here.

        Returns:
            How many are forgotten.
        """

        def change(db: sqlite_utils.Database) -> int:
            return sum(
                db.conn.execute(
                    "DELETE FROM events WHERE life = ? AND number <= ?", each
                ).rowcount
                for each in told
            )

        return self._store.write(change)

    def _insert(self, db: sqlite_utils.Database, kind: str, at: int, body: str) -> None:
        # Numbers start again with a database, so its chance is a part of the name too.
        db.conn.execute(
            "INSERT INTO events (kind, at, body, life) SELECT ?, ?, ?, value || ? "
            "FROM facts WHERE name = 'life'",
            (kind, at, body, self._process),
        )
        count = db.conn.execute(
            "SELECT max(number) - min(number) + 1 FROM events"
        ).fetchone()[0]
        if count <= self._max_events:
            return
        dropped = db.conn.execute(
            "DELETE FROM events WHERE number IN "
            "(SELECT number FROM events ORDER BY number DESC LIMIT -1 OFFSET ?)",
            (self._max_events,),
        ).rowcount
        db.conn.execute(
            "INSERT INTO facts VALUES ('dropped', ?) ON CONFLICT (name) DO UPDATE "
            "SET value = CAST(value AS INTEGER) + excluded.value",
            (dropped,),
        )
