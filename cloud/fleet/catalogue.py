"""The cloud's side of the catalogue: an append-only log and what it adds up to.

Rules of this module:

* A change is one row of the log and one entry, in one transaction; its number is the
  next one. Nothing is ever changed under a number.
* The head is signed by the online phrases key and names the state by its root.
* A rendition by an engine that chooses readings itself enters only when it was checked.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cloud.fleet.blobs import Blobs
from cloud.fleet.db import FleetDb
from cloud.fleet.leftovers import Leftovers
from cloud.fleet.repository import Repository
from common.errors import YaoheError
from common.protocol.catalogue import (
    MAX_LOG_ENTRIES,
    SHA256_BYTES,
    Entry,
    Head,
    Log,
    Snapshot,
    bucket_digests,
    differing,
    root,
    shortened,
)
from common.protocol.cbor import encode
from common.protocol.rendition import SentRendition
from common.protocol.repair import Reply
from common.trust.roles import HEAD_TYPE

KEEP_CHANGES = 10_000
"""Changes that a log keeps; a box that missed more takes the snapshot."""
GONE = bytes(SHA256_BYTES)


class Published(NamedTuple):
    """A signed head and what it stands on.

    Attributes:
        head: The head.
        envelope: The same, signed.
        snapshot: Digest of the snapshot's blob, hex.
        key_mark: Of the key that signed.
    """

    head: Head
    envelope: bytes
    snapshot: str
    key_mark: int


class PhraseRow(NamedTuple):
    """A phrase for people.

    Attributes:
        scope: Whose boxes have it.
        key: The phrase key, hex.
        text: What is said.
        voice: Logical voice.
        dialect: The dialect.
        size: Bytes of the rendition.
        sha256: Digest of the rendition's blob, hex.
        seq: The change that brought it.
    """

    scope: str
    key: str
    text: str
    voice: str
    dialect: str
    size: int
    sha256: str
    seq: int


class Catalogue:
    """All catalogues of a chain."""

    def __init__(
        self,
        db: FleetDb,
        blobs: Blobs,
        repository: Repository,
        chain: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Put the parts together.

        Args:
            db: Where logs are kept.
            blobs: Where renditions and snapshots are kept.
            repository: Signs heads.
            chain: The chain's name.
            now: Seconds since 1970.
        """
        self._db = db
        self._blobs = blobs
        self._repository = repository
        self._leftovers = Leftovers(db, blobs, now)
        self._chain = chain
        self._now = now
        self._heads: dict[str, Published] = {}
        self._lock = threading.Lock()

    def put(
        self, scope: str, rendition: SentRendition, *, checked: bool = False
    ) -> int:
        """Add a phrase, or a better rendition of it.

        Args:
            scope: Whose boxes get it.
            rendition: The recording.
            checked: Whether a recogniser has heard that it says the right thing.

        Returns:
            The change's number; the present one when nothing changed.

        Raises:
            YaoheError: ``invalid_request``: its engine chose readings itself, and it
                was not checked.
        """
        if not rendition.enforced and not checked:
            raise YaoheError(
                "invalid_request",
                f"{rendition.engine} chooses readings itself; its renditions enter the "
                "catalogue only after a check",
            )
        content = encode(rendition)
        digest = hashlib.sha256(content).digest()
        with self._lock:
            self._leftovers.note(digest.hex())
            self._blobs.keep(content)
        entry = Entry(
            rendition.key, digest, len(content), rendition.quality, 0, deleted=False
        )
        about = (rendition.text, rendition.voice, rendition.dialect)
        return self._change(scope, entry, about)

    def remove(self, scope: str, key: bytes) -> int:
        """Take a phrase out.

        Args:
            scope: Whose boxes have it.
            key: Its phrase key.

        Returns:
            The change's number.

        Raises:
            YaoheError: ``not_found``: the scope has no such phrase.
        """
        rows = self._db.read(
            "SELECT text, voice, dialect FROM entries "
            "WHERE scope = ? AND key = ? AND NOT deleted",
            (scope, key),
        )
        if not rows:
            raise YaoheError("not_found", f"no phrase {key.hex()} in {scope}")
        return self._change(scope, Entry(key, GONE, 0, 0, 0, deleted=True), rows[0])

    def scopes(self) -> list[str]:
        """Scopes that have a catalogue."""
        return [row["scope"] for row in self._db.read("SELECT scope FROM scopes")]

    def phrases(self) -> list[PhraseRow]:
        """All phrases, the newest first."""
        rows = self._db.read(
            "SELECT * FROM entries WHERE NOT deleted ORDER BY scope, seq DESC"
        )
        return [
            PhraseRow(
                *(row["scope"], row["key"].hex(), row["text"], row["voice"]),
                *(row["dialect"], row["size"], row["sha256"].hex(), row["seq"]),
            )
            for row in rows
        ]

    def published(self, scope: str) -> Published:
        """The newest signed head; signed anew only when something changed.

        Args:
            scope: A scope of :meth:`scopes`.
        """
        with self._lock:
            row = self._scope(scope)
            known = self._heads.get(scope)
            mark = self._repository.key_mark("phrases")
            if known is not None and (
                *(known.head.epoch, known.head.seq),
                known.key_mark,
            ) == (row["epoch"], row["seq"], mark):
                return known
            entries = self._entries(scope)
            snapshot = encode(
                Snapshot(epoch=row["epoch"], seq=row["seq"], entries=entries)
            )
            head = Head(
                chain=self._chain,
                scope=scope,
                epoch=row["epoch"],
                seq=row["seq"],
                floor=row["floor"],
                count=len(entries),
                root=root(bucket_digests(entries)),
                snapshot=hashlib.sha256(snapshot).digest(),
                issued=int(self._now()),
            )
            envelope = self._repository.sign_envelope(encode(head), HEAD_TYPE)
            self._leftovers.note(head.snapshot.hex())
            published = Published(head, envelope, self._blobs.keep(snapshot), mark)
            if known is not None and known.snapshot != published.snapshot:
                # Who is fetching it will be told of the new one.
                self._blobs.drop(known.snapshot)
            self._heads[scope] = published
            return published

    def log(self, scope: str, since: int) -> Iterator[Log]:
        """Changes after a number, in batches.

        Args:
            scope: A scope.
            since: The number the reader is at.

        Yields:
            Batches in order; none when the log no longer reaches back so far.
        """
        row = self._scope(scope)
        first = since
        while row["floor"] <= first < row["seq"]:
            entries = [
                _entry(change)
                for change in self._db.read(
                    "SELECT * FROM changes WHERE scope = ? AND seq > ? "
                    "ORDER BY seq LIMIT ?",
                    (scope, first, MAX_LOG_ENTRIES),
                )
            ]
            if not entries:
                return
            last = entries[-1].seq
            yield Log(epoch=row["epoch"], first=first, last=last, entries=entries)
            first = last

    def difference(self, scope: str, theirs: bytes) -> Iterator[Reply]:
        """Whole buckets that a box has otherwise.

        Args:
            scope: A scope.
            theirs: The box's shortened bucket digests.

        Yields:
            Replies of at most a batch of entries each.
        """
        row = self._scope(scope)
        entries = self._entries(scope)
        ours = shortened(bucket_digests(entries))
        numbers: list[int] = []
        batch: list[Entry] = []

        def reply() -> Reply:
            return Reply(
                scope=scope,
                epoch=row["epoch"],
                seq=row["seq"],
                numbers=list(numbers),
                entries=list(batch),
            )

        for number in differing(ours, theirs):
            inside = [entry for entry in entries if entry.key[0] == number]
            if batch and len(batch) + len(inside) > MAX_LOG_ENTRIES:
                yield reply()
                numbers, batch = [], []
            numbers.append(number)
            batch += inside
        if numbers:
            yield reply()

    def compact(self, scope: str, keep: int = KEEP_CHANGES) -> None:
        """Forget old changes and the tombstones they held.

        Args:
            scope: A scope.
            keep: Changes to keep.
        """
        with self._db.change() as db:
            row = _scope_row(db, scope)
            if row is None or row["seq"] - row["floor"] <= 2 * keep:
                return
            floor = row["seq"] - keep
            db.execute("UPDATE scopes SET floor = ? WHERE scope = ?", (floor, scope))
            db.execute(
                "DELETE FROM changes WHERE scope = ? AND seq <= ?", (scope, floor)
            )
            db.execute(
                "DELETE FROM entries WHERE scope = ? AND deleted AND seq <= ?",
                (scope, floor),
            )

    def collect(self) -> int:
        """Forget blobs that this catalogue once kept and no longer names.

        Nothing is forgotten before every scope is published: others may still fetch
        what was published last time.

        Returns:
            How many are forgotten.
        """
        with self._lock:
            if set(self.scopes()) - self._heads.keys():
                return 0
            named = {published.snapshot for published in self._heads.values()}
            return self._leftovers.collect(named)

    def _change(self, scope: str, entry: Entry, about: Sequence[str]) -> int:
        with self._db.change() as db:
            row = _scope_row(db, scope)
            if row is None:
                # A new log is a new epoch, later than any before it.
                epoch, number = int(self._now()), 0
                db.execute("INSERT INTO scopes VALUES (?, ?, 0, 0)", (scope, epoch))
            else:
                number = row["seq"]
            same = db.execute(
                "SELECT 1 FROM entries WHERE scope = ? AND key = ? AND sha256 = ? "
                "AND deleted = ?",
                (scope, entry.key, entry.sha256, entry.deleted),
            ).fetchone()
            if same:
                return int(number)
            self._leftovers.note_entry(db, scope, entry.key)
            number += 1
            change = (scope, number, *entry[:4], entry.deleted)
            db.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", change)
            db.execute(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (scope, *entry[:4], number, entry.deleted, *about),
            )
            db.execute("UPDATE scopes SET seq = ? WHERE scope = ?", (number, scope))
        return int(number)

    def _scope(self, scope: str) -> sqlite3.Row:
        rows = self._db.read("SELECT * FROM scopes WHERE scope = ?", (scope,))
        if not rows:
            raise YaoheError("not_found", f"no catalogue for {scope}")
        return rows[0]

    def _entries(self, scope: str) -> list[Entry]:
        rows = self._db.read(
            "SELECT * FROM entries WHERE scope = ? AND NOT deleted ORDER BY key",
            (scope,),
        )
        return [_entry(row) for row in rows]


def _scope_row(db: sqlite3.Connection, scope: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM scopes WHERE scope = ?", (scope,)
    ).fetchone()
    return row


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(
        *(row["key"], row["sha256"], row["size"], row["quality"], row["seq"]),
        deleted=bool(row["deleted"]),
    )
