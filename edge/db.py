"""A SQLite file with one writer thread and a reader for every thread that asks.

Rules:

* Every write runs on the writer thread inside ``BEGIN IMMEDIATE``; it is acknowledged
  after the commit has reached the disk (WAL, ``synchronous=FULL``), so a kill at any
  instruction loses nothing that was acknowledged.
* Connections are never shared between threads: a shared one loses rows.
* A file that is no longer a database is moved aside together with its side files and
  a new one takes its place; whoever reads meanwhile gets :class:`DatabaseGone`.
* The side files ``-wal`` and ``-shm`` are never deleted under a live database.
* A file that cannot be written, because the disk is full, is read all the same.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import sqlite_utils
from sqlite_utils import Migrations

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
"""How long a statement waits for another process that writes."""
JOURNAL_LIMIT_BYTES = 8 * 1024 * 1024
"""The write-ahead log is cut back to this size after a checkpoint."""
MAX_PENDING = 1024
"""Writes waiting for the writer; one more is refused."""
KEEP_ASIDE = 2
"""Damaged files kept for whoever wants to look; older ones are deleted."""
MIN_FREE_PAGES = 64
"""Free pages above which space is handed back to the disk."""

_INCREMENTAL = 2
_DAMAGE = ("malformed", "not a database", "disk image")

log = logging.getLogger(__name__)


class DatabaseGone(Exception):
    """The file cannot be used now: it is being rebuilt, full, or closed."""


def _is_damage(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, sqlite3.DatabaseError) and any(m in text for m in _DAMAGE)


class Store:
    """One database file.

    Attributes:
        path: The file.
        rebuilt: How often a damaged file was replaced since the start.
    """

    def __init__(self, path: Path, migrations: Migrations) -> None:
        """Start the writer thread, which opens and checks the file.

        Args:
            path: The file; its folder is made.
            migrations: What turns an empty or older file into a current one.
        """
        self.path = path
        self.rebuilt = 0
        self._migrations = migrations
        self._local = threading.local()
        self._generation = 0
        self._is_open = threading.Event()
        self._is_settled = threading.Event()
        self._is_closing = False
        self._was_refused = False
        self._is_sealed = False
        self._queue: queue.Queue[
            tuple[Callable[[sqlite_utils.Database], Any], Future[Any]] | None
        ] = queue.Queue(MAX_PENDING)
        self._thread = threading.Thread(
            target=self._write_for_ever, name=f"db-{path.stem}", daemon=True
        )
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether the file is checked and usable."""
        return self._is_open.is_set()

    @property
    def is_settled(self) -> bool:
        """Whether the first try to open the file has ended, well or not."""
        return self._is_settled.is_set()

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until the first try to open the file has ended.

        Args:
            timeout_s: Longest wait in seconds.

        Returns:
            Whether the file is usable.
        """
        self._is_settled.wait(timeout_s)
        return self.is_open

    def write(self, change: Callable[[sqlite_utils.Database], T]) -> Future[T]:
        """Run a change in a transaction of its own.

        Args:
            change: Called on the writer thread; what it raises undoes the change.

        Returns:
            Its result, set after the commit. Fails with :class:`DatabaseGone` when
            the file is damaged, full or closed.
        """
        future: Future[T] = Future()
        if self._is_closing:
            future.set_exception(DatabaseGone("closed"))
            return future
        try:
            self._queue.put_nowait((change, future))
        except queue.Full:
            future.set_exception(DatabaseGone("too many writes are waiting"))
        return future

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """Ask on the calling thread's own connection.

        Args:
            sql: One SELECT.
            values: What fills its question marks.

        Returns:
            All rows.

        Raises:
            DatabaseGone: The file cannot be read now.
        """
        if not self._is_open.is_set():
            raise DatabaseGone("not open")
        try:
            rows: list[sqlite3.Row] = self._reader().execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if _is_damage(error):
                self._report_damage(error)
            raise DatabaseGone(str(error)) from error
        return rows

    def close(self) -> None:
        """Finish waiting writes and stop the writer; safe to call twice."""
        if not self._is_closing:
            self._is_closing = True
            self._queue.put(None)
        self._thread.join()

    def _reader(self) -> sqlite3.Connection:
        local = self._local
        if getattr(local, "generation", None) != self._generation:
            generation = self._generation
            connection = sqlite3.connect(self._address(), uri=True)
            connection.row_factory = sqlite3.Row
            connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            local.connection, local.generation = connection, generation
        reader: sqlite3.Connection = local.connection
        return reader

    def _address(self) -> str:
        return f"file:{self.path}?{'immutable=1' if self._is_sealed else 'mode=ro'}"

    def _report_damage(self, error: Exception) -> None:
        """Let the writer look at a file that a reader could not read."""
        self._is_open.clear()
        log.error("database %s is damaged: %s", self.path.name, error)

        def fail(_: sqlite_utils.Database) -> None:
            raise sqlite3.DatabaseError(f"reported by a reader: malformed: {error}")

        self.write(fail)

    def _open(self) -> sqlite_utils.Database:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path)
        try:
            connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
                # To set it is to write, and a full disk must not keep it shut.
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={JOURNAL_LIMIT_BYTES}")
            if connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
                raise sqlite3.OperationalError("synchronous=FULL was refused")
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(f"malformed: {verdict}")
            database = sqlite_utils.Database(connection, execute_plugins=False)
            self._migrations.apply(database)
        except BaseException:
            connection.close()
            raise
        return database

    def _open_or_rebuild(self) -> sqlite_utils.Database:
        try:
            return self._open()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            log.error("database %s is damaged: %s", self.path.name, error)
        self._move_aside()
        return self._open()

    def _move_aside(self) -> None:
        """Keep a damaged file under another name, and only the newest such files."""
        taken = [
            int(p.suffix[1:])
            for p in self.path.parent.glob(f"{self.path.name}.damaged.*")
            if p.suffix[1:].isdigit()
        ]
        number = max(taken, default=0) + 1
        for side in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + side)
            if source.exists():
                aside = f"{self.path.name}{side}.damaged.{number}"
                source.replace(source.with_name(aside))
        for old in self.path.parent.glob(f"{self.path.name}*.damaged.*"):
            if old.suffix[1:].isdigit() and int(old.suffix[1:]) <= number - KEEP_ASIDE:
                old.unlink()
        self.rebuilt += 1

    def _write_for_ever(self) -> None:
        database: sqlite_utils.Database | None = None
        while True:
            if database is None:
                database = self._try_open()
                self._is_settled.set()
            item = self._queue.get()
            if item is None:
                break
            change, future = item
            if not future.set_running_or_notify_cancel():
                continue
            if database is None:
                database = self._try_open()
            if database is None:
                future.set_exception(DatabaseGone("the file cannot be opened"))
                continue
            try:
                future.set_result(_in_transaction(database, change))
                if self._queue.empty():
                    _give_back_space(database)
            except sqlite3.Error as error:
                if _is_damage(error):
                    self._is_open.clear()
                    database.conn.close()
                    self._move_aside()
                    database = None
                future.set_exception(DatabaseGone(str(error)))
            except Exception as error:  # noqa: BLE001 - belongs to whoever asked
                future.set_exception(error)
        self._is_open.clear()
        if database is not None:
            database.conn.close()

    def _try_open(self) -> sqlite_utils.Database | None:
        try:
            database = self._open_or_rebuild()
        except (sqlite3.Error, OSError) as error:
            if not self._was_refused:
                log.error("database %s cannot be opened: %s", self.path, error)
            self._was_refused = True
            if not self._is_open.is_set() and self._can_be_read():
                self._is_sealed = True
                self._generation += 1
                self._is_open.set()
            return None
        self._was_refused = self._is_sealed = False
        self._generation += 1
        self._is_open.set()
        return database

    def _can_be_read(self) -> bool:
        """Whether all of it lies in the file itself, which nobody can change now."""
        log_file = self.path.with_name(f"{self.path.name}-wal")
        try:
            if log_file.exists() and log_file.stat().st_size:
                return False
            address = f"file:{self.path}?immutable=1"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                verdict: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except (sqlite3.Error, OSError):
            return False
        return verdict == "ok"


def _in_transaction(
    database: sqlite_utils.Database, change: Callable[[sqlite_utils.Database], T]
) -> T:
    """Run a change between BEGIN IMMEDIATE and COMMIT, or undo it."""
    connection = database.conn
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = change(database)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _give_back_space(database: sqlite_utils.Database) -> None:
    """Hand free pages back to the disk; a cache that shrank should look smaller."""
    try:
        free = database.conn.execute("PRAGMA freelist_count").fetchone()[0]
        if free > MIN_FREE_PAGES:
            database.conn.execute(f"PRAGMA incremental_vacuum({free})").fetchall()
    except sqlite3.Error as error:
        log.warning("space was not handed back: %s", error)
