"""Blobs of the catalogue that nobody names any more.

A blob is noted before it is kept and again when it stops being named, so that a service
killed between two steps leaves nothing behind for ever. Files of packs are never noted.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection

from cloud.fleet.blobs import Blobs
from cloud.fleet.db import FleetDb

LEFTOVER_S = 3600
"""A blob that nobody names is forgotten so long after it was noted."""


class Leftovers:
    """Blobs that may be of no use some day."""

    def __init__(
        self, db: FleetDb, blobs: Blobs, now: Callable[[], float] = time.time
    ) -> None:
        """Remember the parts.

        Args:
            db: Where they are noted.
            blobs: Where they are kept.
            now: Seconds since 1970.
        """
        self._db = db
        self._blobs = blobs
        self._now = now

    def note(self, digest: str) -> None:
        """Note a blob that is about to be kept.

        Args:
            digest: Its SHA-256, hex.
        """
        with self._db.change() as db:
            db.execute(
                "INSERT OR REPLACE INTO leftovers VALUES (?, ?)",
                (digest, int(self._now())),
            )

    def note_entry(self, db: sqlite3.Connection, scope: str, key: bytes) -> None:
        """Note the rendition that an entry names now, in the caller's transaction."""
        db.execute(
            "INSERT OR REPLACE INTO leftovers SELECT lower(hex(sha256)), ? "
            "FROM entries WHERE scope = ? AND key = ? AND NOT deleted",
            (int(self._now()), scope, key),
        )

    def collect(self, snapshots: Collection[str]) -> int:
        """Forget what nobody names.

        Args:
            snapshots: Digests of those that are published now.

        Returns:
            How many blobs are forgotten.
        """
        gone = 0
        with self._db.change() as db:
            old = db.execute(
                "SELECT sha256 FROM leftovers WHERE noted < ?",
                (int(self._now()) - LEFTOVER_S,),
            ).fetchall()
            for (digest,) in old:
                if digest in snapshots:
                    continue
                if not db.execute(
                    "SELECT 1 FROM entries WHERE sha256 = ? AND NOT deleted",
                    (bytes.fromhex(digest),),
                ).fetchone():
                    self._blobs.drop(digest)
                    gone += 1
                # One that is named is noted again when that ends.
                db.execute("DELETE FROM leftovers WHERE sha256 = ?", (digest,))
        return gone
