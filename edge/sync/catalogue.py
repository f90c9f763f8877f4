"""The catalogues of this box: heads verified, states adopted, renditions fetched.

Rules of this module:

* A head counts when the chain's phrases key signed it for this chain and this scope.
* What is adopted is committed first; renditions follow, newest first, each checked
  against its digest and its key.
* Renditions are fetched only while cache and disk have room, so that nothing is pushed
  out to be fetched again, and nothing comes that cannot be kept.
"""

from __future__ import annotations

import logging
from asyncio import wrap_future
from collections.abc import Callable, Iterable

from common.errors import YaoheError
from common.protocol import topics
from common.protocol.catalogue import MAX_RENDITION_BYTES, Head, Log, Snapshot
from common.protocol.cbor import decode
from common.protocol.rendition import SentRendition
from common.protocol.repair import Need, Reply
from common.trust.envelope import open_envelope
from common.trust.roles import HEAD_TYPE
from edge.sync.book import Book
from edge.sync.fetch import Fetch
from edge.sync.replica import Adoption, Replica
from edge.sync.shelf import Room, Shelf
from edge.sync.state import Lack
from edge.sync.trust import TrustDesk

MAX_WAITING_HEADS = 64
"""Heads kept until the keys to check them are trusted."""

log = logging.getLogger(__name__)


class CatalogueDesk:
    """The box's catalogues."""

    def __init__(
        self,
        chain: str,
        scopes: Iterable[str],
        book: Book,
        trust: TrustDesk,
        shelf: Shelf | None,
        *,
        monotonic: Callable[[], float],
        patience_s: float,
    ) -> None:
        """Put the parts together; :meth:`load` reads what was committed.

        Args:
            chain: The box's chain.
            scopes: Scopes it belongs to.
            book: Where catalogues are kept.
            trust: Whose signatures count.
            shelf: Where renditions go; None when nothing is kept.
            monotonic: Seconds that never jump.
            patience_s: Seconds until a question is asked again.
        """
        self.fetch = Fetch(monotonic)
        self._chain = chain
        self._scopes = tuple(scopes)
        self._book = book
        self._trust = trust
        self._shelf = shelf
        self._monotonic = monotonic
        self._patience_s = patience_s
        self._replicas: dict[str, Replica] = {}
        self._asked: dict[str, float] = {}
        self._heads: dict[str, bytes] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """Newest committed change by scope."""
        return {scope: replica.seq for scope, replica in self._replicas.items()}

    @property
    def is_known(self) -> bool:
        """Whether every head that was announced is committed."""
        heads = all(replica.is_current for replica in self._replicas.values())
        return heads and not self._heads

    @property
    def lack(self) -> Lack:
        """Phrases of the committed catalogues that are not at hand, and why.

        Raises:
            DatabaseGone: The catalogues cannot be read now.
        """
        missing = self._book.missing()
        given_up = self.fetch.given_up
        sizes = [size for _, digest, size in missing if digest not in given_up]
        if not sizes:
            return Lack(len(missing), "refused" if missing else "")
        room = self._room
        return Lack(
            len(missing), "coming" if sizes[0] <= room.size_bytes else room.bound
        )

    @property
    def _room(self) -> Room:
        return self._shelf.room if self._shelf is not None else Room(0, "closed")

    def load(self) -> None:
        """Take up what earlier runs committed."""
        for scope in self._scopes:
            self._replicas[scope] = self._book.replica(scope)

    async def take_head(self, scope: str, envelope: bytes) -> None:
        """Take a signed head; it waits when no key to check it is trusted yet.

        Args:
            scope: The scope it was sent to.
            envelope: Its bytes.

        Raises:
            YaoheError: It is not signed as it must be, or for another place.
        """
        trusted = self._trust.trusted
        replica = self._replicas.get(scope)
        if replica is None or not envelope:
            return
        if trusted is None:
            if len(self._heads) < MAX_WAITING_HEADS:
                self._heads[scope] = envelope
            return
        self._heads.pop(scope, None)
        head = decode(Head, open_envelope(envelope, HEAD_TYPE, trusted.phrases))
        if (head.chain, head.scope) != (self._chain, scope):
            raise YaoheError("pack_invalid", "a head for another place")
        await self._trust.raise_floor(head.issued)
        is_news = replica.target != head
        await self._adopt(replica, replica.take_head(head))
        if is_news:
            self._asked.pop(scope, None)

    async def take_waiting_heads(self) -> None:
        """Try the heads again that came before their keys."""
        for scope, envelope in list(self._heads.items()):
            try:
                await self.take_head(scope, envelope)
            except YaoheError as error:
                self._heads.pop(scope, None)
                log.warning("a head of %s is refused: %s", scope, error.message)

    async def take_log(self, scope: str, content: bytes) -> None:
        """Take changes that were sent to all."""
        replica = self._replicas.get(scope)
        if replica is not None:
            await self._adopt(replica, replica.take_log(decode(Log, content)))

    async def take_reply(self, reply: Reply) -> None:
        """Take an answer that was sent to this box."""
        if reply.scope is None:
            return
        if reply.log is not None:
            await self.take_log(reply.scope, reply.log)
            return
        replica = self._replicas.get(reply.scope)
        if replica is not None:
            await self._adopt(replica, replica.take_buckets(reply))

    async def take_chunk(self, digest: str, index: int, chunk: bytes) -> None:
        """Take a chunk of a snapshot or rendition."""
        await self._take_blob(digest, self.fetch.take(digest, index, chunk))

    async def take_whole(self, digest: str, content: bytes) -> None:
        """Take a snapshot or rendition that came by another way than in chunks."""
        await self._take_blob(digest, self.fetch.take_whole(digest, content))

    async def _take_blob(self, digest: str, content: bytes | None) -> None:
        if content is None:
            return
        for replica in self._replicas.values():
            if replica.target and replica.target.snapshot.hex() == digest:
                snapshot = decode(Snapshot, content)
                await self._adopt(replica, replica.take_snapshot(snapshot))
                return
        await self._shelve(digest, content)

    def questions(self) -> list[Need]:
        """What to ask the cloud now."""
        needs: list[Need] = []
        now = self._monotonic()
        for scope, replica in self._replicas.items():
            if replica.is_current:
                continue
            if now - self._asked.get(scope, float("-inf")) < self._patience_s:
                continue
            self._asked[scope] = now
            way = replica.next_way()
            if way == "snapshot" and replica.target is not None:
                snapshot = replica.target.snapshot.hex()
                self.fetch.want(snapshot, None, Snapshot.MAX_BYTES)
            elif way is not None:
                needs.append(replica.need(way))
        self._want_missing()
        if wanted := self.fetch.ask():
            needs.append(Need(blobs=wanted))
        return needs

    async def reconcile(self) -> None:
        """Notice renditions that the cache lost, by damage or for want of room."""
        if self._shelf is None or not self._shelf.is_open:
            return
        if lost := self._book.held() - self._shelf.keys():
            await wrap_future(self._book.let_go(lost))

    def _want_missing(self) -> None:
        """Want renditions that are not at hand, as far as there is room."""
        keep = {r.target.snapshot.hex() for r in self._replicas.values() if r.target}
        room = self._room.size_bytes
        for _, digest, size in self._book.missing() if room > 0 else ():
            if digest in self.fetch.given_up:
                continue
            room -= size
            if room < 0:
                break
            keep.add(digest)
            self.fetch.want(digest, size, MAX_RENDITION_BYTES)
        self.fetch.forget(keep)

    async def _adopt(self, replica: Replica, adoption: Adoption | None) -> None:
        if adoption is None:
            return
        await wrap_future(self._book.commit(adoption))
        replica.commit(adoption)
        log.info(
            "catalogue %s is at %d",
            replica.scope,
            replica.seq,
            extra={"added": len(adoption.changed), "removed": len(adoption.removed)},
        )
        if self._shelf is not None:
            gone = [key.hex() for key in adoption.removed]
            await self._shelf.drop(k for k in gone if not self._book.is_listed(k))

    async def _shelve(self, digest: str, content: bytes) -> None:
        """Keep a rendition whose bytes are right."""
        keys = {key for key, blob, _ in self._book.missing() if blob == digest}
        try:
            sent = decode(SentRendition, content)
        except YaoheError as error:
            self.fetch.given_up.add(digest)
            log.error("a rendition cannot be read: %s", error.message)
            return
        if self._shelf is None or sent.key.hex() not in keys:
            return
        try:
            await self._shelf.put(sent)
        except ValueError as error:
            self.fetch.given_up.add(digest)
            log.warning("a rendition is not kept: %s", error)
            return
        await wrap_future(self._book.set_held(digest, held=True))


def scopes_of(groups: Iterable[str]) -> list[str]:
    """The scopes that a box in some groups belongs to."""
    return [topics.EVERYONE, *map(topics.group, groups)]
