"""The phrases a box can say without thinking: renditions on disk by phrase key.

Rules:

* Several renditions may share a key. Preferred is a verified cloud rendition, then what
  was kept from a stream, if the cloud would be asked before the pack, then the active
  pack's; nothing else is ever played, so another pack's recordings go stale when the
  pack changes, while those of the cloud survive.
* A rendition without sound is never kept, and one whose bytes do not match their
  digest is dropped instead of played.
* ``put`` answers after the commit has reached the disk.
* The least valuable rendition leaves first when the budget is full: value is plays and
  render cost for each byte, halved with every week of silence.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import sqlite_utils

from edge.db import DatabaseGone, Store
from edge.rendition import COLUMNS, Rendition, migrations, value

EVICT_TO = 0.9
"""Share of the budget that is left after room was made."""
TICKS_TO_FLUSH = 64
"""Plays counted in memory before they are written."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hit:
    """A rendition that was found.

    Attributes:
        row: Where it is kept.
        sha256: Digest of its master, which was compared.
        rendition: Itself.
    """

    row: int
    sha256: str
    rendition: Rendition


_BEST = f"""
    SELECT {", ".join(COLUMNS)}, id, sha256 FROM renditions
    WHERE phrase_key = ?1 AND (
        origin = 'cloud' AND verified AND quality >= ?2
        OR origin = 'stream' AND verified AND ?4
        OR origin = 'pack' AND pack_sha256 = ?3 AND quality >= ?2)
    ORDER BY origin = 'cloud' DESC, origin = 'stream' DESC, quality DESC, id DESC
"""  # noqa: S608 - column names are the dataclass's own


@dataclass(frozen=True)
class CacheStats:
    """How full the cache is.

    Attributes:
        renditions: How many are kept.
        size_bytes: Bytes of their masters.
        rebuilt: How often a damaged file was replaced since the start.
        is_open: Whether the file is usable now.
    """

    renditions: int
    size_bytes: int
    rebuilt: int
    is_open: bool


class Cache:
    """Renditions on disk."""

    def __init__(
        self,
        path: Path,
        *,
        budget_bytes: int,
        min_free_bytes: int,
        now: Callable[[], float],
    ) -> None:
        """Open the file, or start to rebuild it; the caller need not wait.

        Args:
            path: The database file.
            budget_bytes: Most bytes of masters.
            min_free_bytes: Nothing is written when the disk has less left.
            now: Seconds since 1970, never before the time floor.
        """
        self.store = Store(path, migrations)
        self._budget = budget_bytes
        self._min_free = min_free_bytes
        self._now = now
        self._plays: dict[int, int] = {}
        self.evicted = 0

    def best(
        self,
        phrase_key: str,
        *,
        pack_sha256: str,
        min_quality: int = 0,
        streamed: bool = False,
    ) -> Hit | None:
        """Find the rendition to play.

        Args:
            phrase_key: What is asked for.
            pack_sha256: Digest of the pack that is active for the voice and dialect.
            min_quality: Lowest rank that counts.
            streamed: Whether what was kept from a stream counts too, whatever its rank:
                the cloud would be asked now, whatever its rank.

        Returns:
            It; None when nothing fits or the file is unusable.
        """
        try:
            rows = self.store.read(
                _BEST, (phrase_key, min_quality, pack_sha256, streamed)
            )
        except DatabaseGone:
            return None
        for row in rows:
            rendition = Rendition.from_row(row)
            if rendition.sha256 == row["sha256"]:
                return Hit(row["id"], row["sha256"], rendition)
            log.error("rendition %d is damaged and dropped", row["id"])
            self._drop(row["id"])
        return None

    def count_play(self, row: int) -> None:
        """Remember that a rendition was played; written later, in batches.

        Args:
            row: From :meth:`best`.
        """
        self._plays[row] = self._plays.get(row, 0) + 1
        if sum(self._plays.values()) >= TICKS_TO_FLUSH:
            self.flush_plays()

    def flush_plays(self) -> None:
        """Write the plays counted so far."""
        plays, self._plays = self._plays, {}
        if not plays:
            return
        now = self._now()

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "UPDATE renditions SET plays = plays + ?, played = ? WHERE id = ?",
                [(count, now, row) for row, count in plays.items()],
            )

        self.store.write(change)

    def put(self, rendition: Rendition) -> Future[int]:
        """Keep a rendition; one of the same key and pack is replaced.

        Args:
            rendition: A complete utterance.

        Returns:
            Its row, set after the commit has reached the disk. Fails with
            :class:`DatabaseGone` when the file is unusable or the disk is full.

        Raises:
            ValueError: It holds no sound, or is larger than the whole budget.
        """
        size = len(rendition.master)
        if rendition.duration_ms <= 0 or size == 0:
            raise ValueError("a rendition without sound is not kept")
        if size > self._budget:
            raise ValueError("the rendition is larger than the cache's budget")
        now = self._now()
        values = rendition.row() | {"created": now, "played": now, "plays": 0}

        def change(db: sqlite_utils.Database) -> int:
            self._require_space()
            db.conn.execute(
                "DELETE FROM renditions WHERE phrase_key = ? AND origin = ? "
                "AND engine = ? AND pack_sha256 = ?",
                (
                    rendition.phrase_key,
                    rendition.origin,
                    rendition.engine,
                    rendition.pack_sha256,
                ),
            )
            table = db.table("renditions").insert(values)
            row = int(str(table.last_pk))
            self._make_room(db, now, keep=row)
            return row

        return self.store.write(change)

    def clear(self) -> Future[int]:
        """Forget every rendition.

        Returns:
            How many there were.
        """

        def change(db: sqlite_utils.Database) -> int:
            return db.conn.execute("DELETE FROM renditions").rowcount

        return self.store.write(change)

    def stats(self) -> CacheStats:
        """How full the cache is now."""
        try:
            row = self.store.read(
                "SELECT count(*) AS n, coalesce(sum(size), 0) AS b FROM renditions"
            )[0]
        except DatabaseGone:
            return CacheStats(0, 0, self.store.rebuilt, False)
        return CacheStats(row["n"], row["b"], self.store.rebuilt, True)

    @property
    def disk_room(self) -> int:
        """Bytes that the disk has above what it must keep free; negative when less.

        Raises:
            DatabaseGone: The folder is gone.
        """
        try:
            free = shutil.disk_usage(self.store.path.parent).free
        except OSError as error:
            # Somebody took the folder away while the file was open.
            raise DatabaseGone(f"the folder is gone: {error}") from error
        return free - self._min_free

    def close(self) -> None:
        """Write what was counted and close the file."""
        self.flush_plays()
        self.store.close()

    def _drop(self, row: int) -> None:
        def change(db: sqlite_utils.Database) -> None:
            db.conn.execute("DELETE FROM renditions WHERE id = ?", (row,))

        self.store.write(change)

    def _require_space(self) -> None:
        if self.disk_room < 0:
            raise DatabaseGone("the disk is nearly full")

    def _make_room(self, db: sqlite_utils.Database, now: float, *, keep: int) -> None:
        total = db.conn.execute("SELECT sum(size) FROM renditions").fetchone()[0]
        if total <= self._budget:
            return
        rows = db.conn.execute(
            "SELECT id, size, plays, played, render_ms, origin FROM renditions"
        ).fetchall()
        victims = []
        for row in sorted(rows, key=lambda r: value(r[1:], now)):
            if total <= self._budget * EVICT_TO:
                break
            if row[0] != keep:
                victims.append((row[0],))
                total -= row[1]
        db.conn.executemany("DELETE FROM renditions WHERE id = ?", victims)
        self.evicted += len(victims)
