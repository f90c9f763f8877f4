"""One scope's catalogue on the box: what is committed, and what may become it.

No input or output here: messages go in, decisions come out, in any order, any number of
times.

Rules of this module:

* The target is the newest signed head; older ones are ignored, whoever repeats them.
* Log batches, buckets and snapshots build a candidate. Only when its root is the
  target's root it is adopted, whole; until then the committed state stands.
* Who makes no progress asks for more: changes, then differing buckets, then all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from common.protocol.catalogue import (
    Entry,
    Head,
    Log,
    Snapshot,
    bucket_digests,
    root,
    shortened,
)
from common.protocol.repair import Need, Reply

PATIENT_TRIES = 3
"""Times that one way is tried before the next."""

Way = Literal["log", "buckets", "snapshot"]


class Adoption(NamedTuple):
    """A state that may be committed: the target's, root and all.

    Attributes:
        head: The head it matches.
        entries: All of it by key.
        changed: Entries that are new or other than before.
        removed: Keys that are gone.
    """

    head: Head
    entries: Mapping[bytes, Entry]
    changed: tuple[Entry, ...]
    removed: tuple[bytes, ...]


class Replica:
    """A scope's catalogue.

    Attributes:
        scope: The scope.
        epoch: Epoch of what is committed.
        seq: Number of what is committed.
        entries: What is committed, by key.
        target: The newest head; None before the first.
    """

    def __init__(
        self, scope: str, epoch: int, seq: int, issued: int, entries: Iterable[Entry]
    ) -> None:
        """Take up what was committed.

        Args:
            scope: The scope.
            epoch: Its epoch; 0 when nothing was.
            seq: Its number.
            issued: When its head was signed.
            entries: Its entries.
        """
        self.scope = scope
        self.epoch = epoch
        self.seq = seq
        self.entries: dict[bytes, Entry] = {entry.key: entry for entry in entries}
        self.target: Head | None = None
        self._floor = (epoch, seq, issued)
        self._root = root(bucket_digests(self.entries.values()))
        self._tries = 0
        self._candidate = dict(self.entries)
        self._epoch, self._seq = epoch, seq

    @property
    def is_current(self) -> bool:
        """Whether the newest head is what is committed."""
        target = self.target
        return target is None or (
            (target.epoch, target.seq) == (self.epoch, self.seq)
            and target.root == self._root
        )

    def take_head(self, head: Head) -> Adoption | None:
        """Aim at a head, if it is newer than all that was seen.

        Args:
            head: A head whose signature, chain and scope hold.

        Returns:
            What may be committed now.
        """
        place = (head.epoch, head.seq, head.issued)
        if place < self._floor:
            return None
        if self.target is None or place > self._floor:
            self._tries = 0
        self._floor = place
        self.target = head
        return self._try()

    def take_log(self, log: Log) -> Adoption | None:
        """Add changes to the candidate, if they follow what it has.

        Args:
            log: A batch, perhaps old, doubled or early.

        Returns:
            What may be committed now.
        """
        is_next = log.first <= self._seq < log.last
        if log.epoch != self._epoch or not is_next:
            return None
        for entry in log.entries:
            if entry.seq > self._seq:
                self._put(entry)
        self._seq = log.last
        self._tries = 0
        return self._try()

    def take_buckets(self, reply: Reply) -> Adoption | None:
        """Replace whole buckets of the candidate.

        Args:
            reply: Buckets as the cloud has them.

        Returns:
            What may be committed now.
        """
        target = self.target
        if target is None or (reply.epoch, reply.seq) != (target.epoch, target.seq):
            return None
        numbers = set(reply.numbers)
        kept = {k: e for k, e in self._candidate.items() if k[0] not in numbers}
        self._candidate = kept
        for entry in reply.entries:
            if entry.key[0] in numbers:
                self._put(entry)
        return self._adopt_if_right()

    def take_snapshot(self, snapshot: Snapshot) -> Adoption | None:
        """Take everything anew.

        Args:
            snapshot: What the target's snapshot digest named.

        Returns:
            What may be committed now.
        """
        target = self.target
        if target is None or (snapshot.epoch, snapshot.seq) != (
            target.epoch,
            target.seq,
        ):
            return None
        self._candidate = {}
        for entry in snapshot.entries:
            self._put(entry)
        return self._adopt_if_right()

    def commit(self, adoption: Adoption) -> None:
        """Make an adoption the committed state; it is on the disk now.

        Args:
            adoption: What :meth:`take_head` or another gave.
        """
        head = adoption.head
        self.epoch, self.seq, self._root = head.epoch, head.seq, head.root
        self.entries = dict(adoption.entries)
        self._tries = 0
        self._restart()

    def next_way(self) -> Way | None:
        """How to come closer; called each time nothing came for a while.

        Returns:
            None when there is nothing to ask for.
        """
        target = self.target
        if target is None or self.is_current:
            return None
        tries, self._tries = self._tries, self._tries + 1
        has_log = self._epoch == target.epoch and (
            target.floor <= self._seq < target.seq
        )
        ways: list[Way] = ["buckets", "snapshot"] if self.entries else ["snapshot"]
        if has_log:
            ways.insert(0, "log")
        way = ways[tries // PATIENT_TRIES % len(ways)]
        if way != "log":
            self._restart()
        return way

    def need(self, way: Way) -> Need:
        """The message for a way.

        Args:
            way: ``log`` or ``buckets``; a snapshot is fetched as a blob.
        """
        if way == "log":
            return Need(scope=self.scope, epoch=self._epoch, since=self._seq)
        digests = shortened(bucket_digests(self._candidate.values()))
        return Need(scope=self.scope, epoch=self.epoch, buckets=digests)

    def _restart(self) -> None:
        """Build the candidate again from what is committed."""
        self._candidate = dict(self.entries)
        self._epoch, self._seq = self.epoch, self.seq

    def _put(self, entry: Entry) -> None:
        if entry.deleted:
            self._candidate.pop(entry.key, None)
        else:
            self._candidate[entry.key] = entry

    def _try(self) -> Adoption | None:
        """Adopt the candidate when the log has brought it to the target."""
        target = self.target
        if target is None or self.is_current:
            return None
        if (self._epoch, self._seq) != (target.epoch, target.seq):
            return None
        return self._adopt_if_right()

    def _adopt_if_right(self) -> Adoption | None:
        target = self.target
        if (
            target is None
            or root(bucket_digests(self._candidate.values())) != target.root
        ):
            return None
        changed = tuple(
            entry
            for key, entry in self._candidate.items()
            if (known := self.entries.get(key)) is None
            or known.sha256 != entry.sha256
            or known.quality != entry.quality
        )
        removed = tuple(key for key in self.entries if key not in self._candidate)
        return Adoption(target, dict(self._candidate), changed, removed)
