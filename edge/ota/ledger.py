"""What is known of packs on this box: one row an update, and who speaks now.

Rules of this module:

* Every transition is one transaction and on the disk when its method returns.
* A transition is made only from the states it may follow; anything else is a mistake of
  ours and raises.
* Switching the voices and committing the update are the same transaction: after a crash
  the old pack speaks or the new one, and the row says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import sqlite_utils
from sqlite_utils import Migrations

from common.errors import YaoheError
from edge.db import Store
from edge.ota.refusal import Reason

OPEN_TIMEOUT_S = 30.0

State = Literal[
    "offered",
    "admitted",
    "receiving",
    "verified",
    "staged",
    "trial",
    "committed",
    "rolled_back",
]
FINAL: tuple[State, ...] = ("committed", "rolled_back")
FOLLOWS: Mapping[State, tuple[State, ...]] = {
    "offered": FINAL,
    "admitted": ("offered", "admitted"),
    "receiving": ("admitted", "receiving", "verified", "staged"),
    "verified": ("admitted", "receiving", "verified"),
    "staged": ("verified", "staged"),
    "trial": ("staged", "trial"),
    "committed": ("trial",),
    "rolled_back": (
        *("offered", "admitted", "receiving", "verified", "staged", "trial"),
        "committed",
    ),
}
"""From which states a state may be reached."""

T = TypeVar("T")
migrations = Migrations("ota")


@migrations()
def m001_tables(db: sqlite_utils.Database) -> None:
    """The first tables."""
    for statement in (
        "CREATE TABLE updates (id INTEGER PRIMARY KEY AUTOINCREMENT, "
        "manifest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, name TEXT NOT NULL, "
        "version TEXT NOT NULL, pack TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, "
        "attempt INTEGER NOT NULL, boots INTEGER NOT NULL DEFAULT 0, "
        "reason TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '')",
        "CREATE TABLE slots (voice TEXT NOT NULL, dialect TEXT NOT NULL, "
        "current TEXT NOT NULL, previous TEXT NOT NULL DEFAULT '', "
        "PRIMARY KEY (voice, dialect))",
        "CREATE TABLE highest (name TEXT PRIMARY KEY, version TEXT NOT NULL, "
        "manifest TEXT NOT NULL)",
        "CREATE TABLE hints (blob TEXT PRIMARY KEY, digests BLOB NOT NULL)",
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    ):
        db.conn.execute(statement)


class Update(NamedTuple):
    """A pack on its way, or what became of it.

    Attributes:
        manifest: SHA-256 of its manifest's bytes, which names it here.
        size: Length of its manifest in bytes.
        name: The pack's name.
        version: Its version.
        pack: The pack's digest, once the manifest was read.
        state: Where it is.
        attempt: How often a person asked for it.
        boots: Trials begun.
        reason: Why it was refused; empty otherwise.
        detail: The same for people, or what it waits for.
    """

    manifest: str
    size: int
    name: str
    version: str
    pack: str
    state: State
    attempt: int
    boots: int
    reason: str
    detail: str

    @property
    def label(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


class Slot(NamedTuple):
    """Who speaks for a voice in a dialect.

    Attributes:
        voice: Logical voice.
        dialect: The dialect.
        current: Manifest of the pack that speaks.
        previous: Manifest of the pack that spoke before; empty if none did.
    """

    voice: str
    dialect: str
    current: str
    previous: str


class Ledger:
    """The database of packs."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Args:
            path: The database file.
        """
        self._store = Store(path, migrations)

    def wait_open(self) -> None:
        """Wait until the file can be used.

        Raises:
            DatabaseGone: It cannot, so far.
        """
        if not self._store.wait_settled(OPEN_TIMEOUT_S):
            # A write that changes nothing makes the writer try to open it again.
            self._change(lambda _: None)

    def find(self, manifest: str) -> Update | None:
        """An update by its manifest; None if it was never offered."""
        found = self._updates("WHERE manifest = ?", (manifest,))
        return found[0] if found else None

    def all(self) -> list[Update]:
        """All updates, the newest last."""
        return self._updates("", ())

    def open(self) -> list[Update]:
        """Updates that are on their way, the oldest first."""
        return self._updates("WHERE state NOT IN (?, ?)", FINAL)

    def blocked(self, pack: str) -> Update | None:
        """An update that brought this pack, under whatever spelling, and failed."""
        found = self._updates("WHERE pack = ? AND state = 'rolled_back'", (pack,))
        return found[0] if found else None

    def highest(self, name: str) -> tuple[str, str] | None:
        """Newest version of a pack that was ever in use, and its manifest."""
        rows = self._store.read("SELECT * FROM highest WHERE name = ?", (name,))
        return (rows[0]["version"], rows[0]["manifest"]) if rows else None

    def slots(self) -> list[Slot]:
        """Who speaks."""
        rows = self._store.read("SELECT * FROM slots ORDER BY voice, dialect")
        return [Slot(*row) for row in rows]

    def generation(self) -> int:
        """A number that rises with every switch, whoever made it."""
        rows = self._store.read("SELECT value FROM facts WHERE name = 'generation'")
        return int(rows[0]["value"]) if rows else 0

    def offer(
        self, manifest: str, size: int, name: str, version: str, attempt: int
    ) -> None:
        """Note an offer; one that failed or was removed begins again."""

        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute(
                "INSERT INTO updates (manifest, size, name, version, state, attempt) "
                "VALUES (?, ?, ?, ?, 'offered', ?) ON CONFLICT (manifest) DO UPDATE "
                "SET state = 'offered', attempt = excluded.attempt, boots = 0, "
                "reason = '', detail = ''",
                (manifest, size, name, version, attempt),
            )

        self._change(change)

    def move(self, manifest: str, state: State, **values: str) -> None:
        """Move an update on.

        Args:
            manifest: Which.
            state: Where to.
            values: Columns to set with it: ``pack``, ``reason``, ``detail``.
        """
        self._change(lambda db: _move(db, manifest, state, values))

    def note(self, manifest: str, detail: str) -> None:
        """Note for people what an update waits for."""

        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute(
                "UPDATE updates SET detail = ? WHERE manifest = ?", (detail, manifest)
            )

        self._change(change)

    def begin_trial(self, manifest: str) -> None:
        """Note that a trial begins, before anything of the pack is loaded."""

        def change(db: sqlite_utils.Database) -> None:
            _move(db, manifest, "trial", {})
            db.conn.execute(
                "UPDATE updates SET boots = boots + 1 WHERE manifest = ?", (manifest,)
            )

        self._change(change)

    def commit(self, update: Update, pairs: Iterable[tuple[str, str]]) -> None:
        """Let a pack speak from now on.

        Args:
            update: The update, in its trial.
            pairs: The voices and dialects it takes over.
        """

        def change(db: sqlite_utils.Database) -> None:
            _move(db, update.manifest, "committed", {"detail": ""})
            db.conn.executemany(
                "INSERT INTO slots (voice, dialect, current) VALUES (?, ?, ?) "
                "ON CONFLICT (voice, dialect) DO UPDATE SET previous = current, "
                "current = excluded.current WHERE current != excluded.current",
                [(voice, dialect, update.manifest) for voice, dialect in pairs],
            )
            db.conn.execute(
                "INSERT OR REPLACE INTO highest VALUES (?, ?, ?)",
                (update.name, update.version, update.manifest),
            )
            _count_switch(db)

        self._change(change)

    def roll_back(self, manifest: str, reason: Reason, detail: str) -> None:
        """Refuse an update, remember why, and take it out of every slot."""

        def change(db: sqlite_utils.Database) -> None:
            _move(db, manifest, "rolled_back", {"reason": reason, "detail": detail})
            db.conn.execute(
                "UPDATE slots SET previous = '' WHERE previous = ?", (manifest,)
            )
            db.conn.execute(
                "UPDATE slots SET current = previous, previous = '' WHERE current = ?",
                (manifest,),
            )
            db.conn.execute("DELETE FROM slots WHERE current = ''")
            _count_switch(db)

        self._change(change)

    def hints(self, blob: str) -> bytes:
        """Digests of the chunks that a part file should hold; empty if unknown."""
        rows = self._store.read("SELECT digests FROM hints WHERE blob = ?", (blob,))
        return bytes(rows[0]["digests"]) if rows else b""

    def keep_hints(self, blob: str, digests: bytes) -> None:
        """Remember the chunks of a part file; empty digests forget them."""

        def change(db: sqlite_utils.Database) -> None:
            if digests:
                db.conn.execute(
                    "INSERT OR REPLACE INTO hints VALUES (?, ?)", (blob, digests)
                )
            else:
                db.conn.execute("DELETE FROM hints WHERE blob = ?", (blob,))

        self._change(change)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _updates(self, where: str, values: tuple[Any, ...]) -> list[Update]:
        columns = ", ".join(Update._fields)
        rows = self._store.read(
            f"SELECT {columns} FROM updates {where} ORDER BY id",  # noqa: S608 - ours
            values,
        )
        return [Update(*row) for row in rows]

    def _change(self, change: Callable[[sqlite_utils.Database], T]) -> T:
        return self._store.write(change).result()


def _move(
    db: sqlite_utils.Database, manifest: str, state: State, values: Mapping[str, str]
) -> None:
    """Move a row on, if it may go there."""
    row = db.conn.execute(
        "SELECT state FROM updates WHERE manifest = ?", (manifest,)
    ).fetchone()
    if row is None or row[0] not in FOLLOWS[state]:
        at = row[0] if row else "unknown"
        raise YaoheError("internal_error", f"an update cannot go from {at} to {state}")
    sets = ", ".join(["state = ?", *(f"{column} = ?" for column in values)])
    db.conn.execute(
        f"UPDATE updates SET {sets} WHERE manifest = ?",  # noqa: S608 - our columns
        (state, *values.values(), manifest),
    )


def _count_switch(db: sqlite_utils.Database) -> None:
    db.conn.execute(
        "INSERT INTO facts VALUES ('generation', 1) "
        "ON CONFLICT (name) DO UPDATE SET value = value + 1"
    )
