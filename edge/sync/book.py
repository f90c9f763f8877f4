"""What the line remembers on the box: trust marks, catalogues, events, counts.

Every change is one transaction and on the disk when its future is done.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path

import sqlite_utils
from sqlite_utils import Migrations

from common.protocol.catalogue import Entry
from edge.db import Store
from edge.sync.events import LIFE_BYTES, EventLog
from edge.sync.replica import Adoption, Replica

OPEN_WAIT_S = 2.0

log = logging.getLogger(__name__)

migrations = Migrations("sync")


@migrations()
def m001_tables(db: sqlite_utils.Database) -> None:
    """The first tables."""
    for statement in (
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE marks (name TEXT PRIMARY KEY, version INTEGER NOT NULL)",
        "CREATE TABLE metadata (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
        "CREATE TABLE heads (scope TEXT PRIMARY KEY, epoch INTEGER NOT NULL, "
        "seq INTEGER NOT NULL, issued INTEGER NOT NULL)",
        "CREATE TABLE entries (scope TEXT NOT NULL, key BLOB NOT NULL, "
        "sha256 BLOB NOT NULL, size INTEGER NOT NULL, quality INTEGER NOT NULL, "
        "seq INTEGER NOT NULL, held INTEGER NOT NULL DEFAULT 0, "
        "PRIMARY KEY (scope, key))",
        "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, "
        "kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL)",
        "CREATE TABLE heat (key TEXT PRIMARY KEY, about TEXT NOT NULL, "
        "plays INTEGER NOT NULL)",
        "CREATE TABLE spoken (tier TEXT PRIMARY KEY, count INTEGER NOT NULL)",
    ):
        db.conn.execute(statement)
    life = secrets.token_hex(LIFE_BYTES)
    db.conn.execute("INSERT INTO facts VALUES ('life', ?)", (life,))


@migrations()
def m002_lives(db: sqlite_utils.Database) -> None:
    """Every event carries its own life."""
    db.conn.execute("ALTER TABLE events ADD COLUMN life TEXT NOT NULL DEFAULT ''")
    db.conn.execute(
        "UPDATE events SET life = (SELECT value FROM facts WHERE name = 'life')"
    )
    db.conn.execute("CREATE INDEX events_by_life ON events (life, number)")


class Book:
    """The line's database.

    Attributes:
        store: The file.
        events: What waits for the cloud.
    """

    def __init__(self, path: Path, max_events: int) -> None:
        """Open the file.

        Args:
            path: The database file.
            max_events: Events that may wait; the oldest are given up.
        """
        self.store = Store(path, migrations)
        self.events = EventLog(self.store, max_events)
        self._is_closed = False

    def open(self) -> None:
        """Wait until the file is usable; a full disk makes this wait long."""
        while not self.store.wait_settled(OPEN_WAIT_S) or not self.store.is_open:
            if self._is_closed:
                return
            log.warning("the line waits for its database")
            time.sleep(OPEN_WAIT_S)
            # The writer tries again when there is something to write.
            self.store.write(lambda _: None)

    def fact(self, name: str) -> str | None:
        """A single fact; None if it is not known."""
        rows = self.store.read("SELECT value FROM facts WHERE name = ?", (name,))
        return str(rows[0]["value"]) if rows else None

    def set_fact(self, name: str, value: str) -> Future[None]:
        """Remember a single fact."""

        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

        return self.store.write(change)

    def versions(self) -> Mapping[str, int]:
        """The highest trusted versions."""
        rows = self.store.read("SELECT name, version FROM marks")
        return {row["name"]: row["version"] for row in rows}

    def raise_to(self, versions: Mapping[str, int]) -> None:
        """Raise the highest trusted versions; on the disk when this returns."""

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "INSERT INTO marks VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
                "SET version = max(version, excluded.version)",
                list(versions.items()),
            )

        self.store.write(change).result()

    def metadata(self, name: str) -> bytes | None:
        """A file of signed metadata; None if it never came."""
        rows = self.store.read("SELECT content FROM metadata WHERE name = ?", (name,))
        return bytes(rows[0]["content"]) if rows else None

    def keep_metadata(self, name: str, content: bytes) -> Future[None]:
        """Keep a file of metadata, unverified; its role's older ones may go."""

        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute(
                "INSERT OR REPLACE INTO metadata VALUES (?, ?)", (name, content)
            )

        return self.store.write(change)

    def drop_older(self, versions: Mapping[str, int]) -> Future[None]:
        """Forget metadata older than what is trusted; roots are needed in a row.

        Args:
            versions: Trusted versions by role. What is newer came meanwhile and stays.
        """

        def is_old(name: str) -> bool:
            number, _, rest = name.partition(".")
            role = rest.removesuffix(".json")
            trusted = versions.get(role, 0) if role != "root" else 0
            return number.isdigit() and int(number) < trusted

        def change(db: sqlite_utils.Database) -> None:
            known = db.conn.execute("SELECT name FROM metadata").fetchall()
            db.conn.executemany(
                "DELETE FROM metadata WHERE name = ?",
                [(name,) for (name,) in known if is_old(name)],
            )

        return self.store.write(change)

    def replica(self, scope: str) -> Replica:
        """What was committed of a scope's catalogue."""
        heads = self.store.read("SELECT * FROM heads WHERE scope = ?", (scope,))
        if not heads:
            return Replica(scope, 0, 0, 0, [])
        head = heads[0]
        rows = self.store.read("SELECT * FROM entries WHERE scope = ?", (scope,))
        entries = [
            Entry(
                *(row["key"], row["sha256"], row["size"], row["quality"], row["seq"]),
                deleted=False,
            )
            for row in rows
        ]
        return Replica(scope, head["epoch"], head["seq"], head["issued"], entries)

    def commit(self, adoption: Adoption) -> Future[None]:
        """Make an adopted catalogue the committed one, whole."""
        head = adoption.head

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "DELETE FROM entries WHERE scope = ? AND key = ?",
                [(head.scope, key) for key in adoption.removed],
            )
            db.conn.executemany(
                "INSERT OR REPLACE INTO entries "
                "(scope, key, sha256, size, quality, seq) VALUES (?, ?, ?, ?, ?, ?)",
                [(head.scope, *entry[:5]) for entry in adoption.changed],
            )
            db.conn.execute(
                "INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?)",
                (head.scope, head.epoch, head.seq, head.issued),
            )

        return self.store.write(change)

    def missing(self) -> list[tuple[str, str, int]]:
        """Renditions that are not at hand: phrase key, blob and size, newest first."""
        rows = self.store.read(
            "SELECT key, sha256, max(size) AS size FROM entries WHERE NOT held "
            "GROUP BY sha256 ORDER BY max(seq) DESC"
        )
        return [(r["key"].hex(), r["sha256"].hex(), r["size"]) for r in rows]

    def held(self) -> set[str]:
        """Phrase keys whose rendition was taken into the cache."""
        rows = self.store.read("SELECT key FROM entries WHERE held")
        return {row["key"].hex() for row in rows}

    def set_held(self, blob: str, *, held: bool) -> Future[None]:
        """Note whether a blob's rendition is in the cache."""
        digest = bytes.fromhex(blob)

        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute(
                "UPDATE entries SET held = ? WHERE sha256 = ?", (held, digest)
            )

        return self.store.write(change)

    def let_go(self, keys: Iterable[str]) -> Future[None]:
        """Note that the cache lost renditions."""
        lost = [(bytes.fromhex(key),) for key in keys]

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany("UPDATE entries SET held = 0 WHERE key = ?", lost)

        return self.store.write(change)

    def is_listed(self, key: str) -> bool:
        """Whether any catalogue has a phrase."""
        rows = self.store.read(
            "SELECT 1 FROM entries WHERE key = ? LIMIT 1", (bytes.fromhex(key),)
        )
        return bool(rows)

    def close(self) -> None:
        """Finish waiting writes and close the file."""
        self._is_closed = True
        self.store.close()
