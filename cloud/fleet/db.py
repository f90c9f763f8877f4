"""The fleet's SQLite file, shared by the service and the command line.

Rules of this module:

* An older file is brought up to date in one transaction when it is opened; a newer one
  is refused.
* A change is one ``BEGIN IMMEDIATE`` transaction and on the disk when it returns.
* Connections are never shared between threads: a shared one loses rows.
* Whoever watches :meth:`FleetDb.version` notices what another process wrote.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.errors import YaoheError

BUSY_TIMEOUT_MS = 10_000

FIRST = """
CREATE TABLE claims (
    name TEXT PRIMARY KEY, secret TEXT NOT NULL, box TEXT NOT NULL,
    groups TEXT NOT NULL, expires INTEGER NOT NULL, used_by TEXT);
CREATE TABLE boxes (
    box TEXT PRIMARY KEY, groups TEXT NOT NULL, enrolled INTEGER NOT NULL,
    certificate_expires INTEGER NOT NULL,
    session INTEGER NOT NULL DEFAULT 0, boot TEXT NOT NULL DEFAULT '',
    up INTEGER NOT NULL DEFAULT 0, seen INTEGER,
    software TEXT NOT NULL DEFAULT '', machine TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT '{}');
CREATE TABLE events (
    box TEXT NOT NULL, life TEXT NOT NULL, number INTEGER NOT NULL,
    kind TEXT NOT NULL, at INTEGER NOT NULL, received INTEGER NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (box, life, number)) WITHOUT ROWID;
CREATE INDEX events_by_time ON events (received);
CREATE TABLE tiers (
    box TEXT NOT NULL, tier TEXT NOT NULL, spoken INTEGER NOT NULL,
    PRIMARY KEY (box, tier)) WITHOUT ROWID;
CREATE TABLE heat (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, voice TEXT NOT NULL,
    dialect TEXT NOT NULL, rules INTEGER NOT NULL, lexicon TEXT NOT NULL,
    plays INTEGER NOT NULL, boxes INTEGER NOT NULL, last INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE wishes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, text TEXT NOT NULL,
    voice TEXT NOT NULL, dialect TEXT NOT NULL, asked INTEGER NOT NULL,
    origin TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting',
    key TEXT, error TEXT);
CREATE TABLE jobs (scope TEXT PRIMARY KEY, envelope BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE scopes (
    scope TEXT PRIMARY KEY, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
    floor INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (
    scope TEXT NOT NULL, seq INTEGER NOT NULL, key BLOB NOT NULL,
    sha256 BLOB NOT NULL, size INTEGER NOT NULL, quality INTEGER NOT NULL,
    deleted INTEGER NOT NULL, PRIMARY KEY (scope, seq)) WITHOUT ROWID;
CREATE TABLE entries (
    scope TEXT NOT NULL, key BLOB NOT NULL, sha256 BLOB NOT NULL,
    size INTEGER NOT NULL, quality INTEGER NOT NULL, seq INTEGER NOT NULL,
    deleted INTEGER NOT NULL, text TEXT NOT NULL, voice TEXT NOT NULL,
    dialect TEXT NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;
"""

LIVES = """
CREATE TABLE lives (
    box TEXT NOT NULL, life TEXT NOT NULL, upto INTEGER NOT NULL,
    heard INTEGER NOT NULL, PRIMARY KEY (box, life)) WITHOUT ROWID;
CREATE TABLE boots (
    box TEXT NOT NULL, boot TEXT NOT NULL, session INTEGER NOT NULL,
    heard INTEGER NOT NULL, PRIMARY KEY (box, boot)) WITHOUT ROWID;
ALTER TABLE boxes ADD COLUMN doubled INTEGER;
"""

CERTIFICATES = """
CREATE TABLE certificates (
    serial TEXT PRIMARY KEY, box TEXT NOT NULL, expires INTEGER NOT NULL,
    revoked INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX certificates_by_box ON certificates (box);
"""

LEFTOVERS = """
CREATE TABLE leftovers (sha256 TEXT PRIMARY KEY, noted INTEGER NOT NULL) WITHOUT ROWID;
"""

MIGRATIONS = (FIRST, LIVES, CERTIFICATES, LEFTOVERS)
"""Each turns a file of the version before it into the next; ``user_version`` counts
those that were applied. What stands here never changes; changes are added."""


class FleetDb:
    """The file; any thread may use it."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Args:
            path: The file; its folder exists.

        Raises:
            YaoheError: ``not_ready``: a newer Yaohe wrote it.
        """
        self._path = path
        self._local = threading.local()
        with self.change() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS):
                raise YaoheError(
                    "not_ready",
                    f"{path} is of version {version}, this Yaohe knows "
                    f"{len(MIGRATIONS)}: update it",
                )
            for migration in MIGRATIONS[version:]:
                for statement in migration.split(";"):
                    db.execute(statement)
            db.execute(f"PRAGMA user_version={len(MIGRATIONS)}")

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction; what is raised inside undoes it.

        Yields:
            The calling thread's connection.
        """
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """Ask.

        Args:
            sql: One SELECT.
            values: What fills its question marks.

        Returns:
            All rows.
        """
        return self._connection().execute(sql, values).fetchall()

    def version(self) -> int:
        """A number that changes when another connection has written."""
        version: int = self._connection().execute("PRAGMA data_version").fetchone()[0]
        return version

    def close(self) -> None:
        """Close the calling thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            self._local.connection = connection
        return connection
