"""The cache as the catalogue sees it: renditions that the cloud sent."""

from __future__ import annotations

import time
from asyncio import wrap_future
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import sqlite_utils

from common.protocol.rendition import SentRendition
from edge.cache import Cache
from edge.db import DatabaseGone
from edge.rendition import Rendition

FULL_AT = 0.9
"""Share of the cache's budget above which nothing more is fetched: it would only push
other phrases out, and be fetched again after them."""
AFTER_REFUSAL_S = 60.0
"""Seconds for which nothing is fetched after the disk took nothing."""

Bound = Literal["disk", "cache", "closed"]
"""What leaves no more room: the disk, the cache's budget, an unusable cache."""


class Room(NamedTuple):
    """Room for renditions.

    Attributes:
        size_bytes: How much they may take; 0 or less when there is none.
        bound: What leaves no more.
    """

    size_bytes: int
    bound: Bound


class Label(NamedTuple):
    """What a rendition says of itself.

    Attributes:
        key: Its phrase key.
        text: The input it was made for.
        voice: Logical voice.
        dialect: The dialect.
        lexicon: Digest of the lexicon it was read with, hex; empty without one.
    """

    key: str
    text: str
    voice: str
    dialect: str
    lexicon: str


class Shelf:
    """Cloud renditions in the cache."""

    def __init__(
        self,
        cache: Cache,
        budget_bytes: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember the cache.

        Args:
            cache: The box's cache.
            budget_bytes: Most bytes it keeps.
            monotonic: Seconds that never jump.
        """
        self._cache = cache
        self._budget = budget_bytes
        self._monotonic = monotonic
        self._again_at = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether the cache can be used now."""
        return self._cache.store.is_open

    @property
    def room(self) -> Room:
        """Room without pushing others out, as far as the disk has it too."""
        stats = self._cache.stats()
        if not stats.is_open:
            return Room(0, "closed")
        if self._monotonic() < self._again_at:
            return Room(0, "disk")
        in_cache = Room(int(self._budget * FULL_AT) - stats.size_bytes, "cache")
        try:
            on_disk = Room(self._cache.disk_room, "disk")
        except DatabaseGone:
            return Room(0, "closed")
        return min(in_cache, on_disk)

    def keys(self) -> set[str]:
        """Phrase keys of the cloud's renditions at hand."""
        rows = self._cache.store.read(
            "SELECT DISTINCT phrase_key FROM renditions WHERE origin = 'cloud'"
        )
        return {row["phrase_key"] for row in rows}

    def labels(self) -> list[Label]:
        """What the cloud's renditions at hand say of themselves, the newest first.

        Raises:
            DatabaseGone: The cache cannot be read now.
        """
        rows = self._cache.store.read(
            "SELECT phrase_key, text, voice, dialect, lexicon_sha256 FROM renditions "
            "WHERE origin = 'cloud' ORDER BY id DESC"
        )
        return [Label(*row) for row in rows]

    async def put(self, sent: SentRendition) -> None:
        """Keep a rendition that the catalogue's signature vouches for.

        Raises:
            DatabaseGone: The cache cannot keep it now.
            ValueError: It is larger than the whole cache.
        """
        rendition = Rendition(
            phrase_key=sent.key.hex(),
            origin="cloud",
            verified=True,
            engine=sent.engine,
            pack=sent.pack,
            pack_sha256=sent.pack_sha256,
            seed=sent.seed,
            table_version=sent.table_version,
            rules_version=sent.rules_version,
            quality=sent.quality,
            text=sent.text,
            voice=sent.voice,
            dialect=sent.dialect,
            symbols_sha256=sent.symbols_sha256,
            lexicon_sha256=sent.lexicon_sha256,
            enforced=sent.enforced,
            duration_ms=sent.duration_ms,
            render_ms=sent.render_ms,
            master=sent.master,
        )
        try:
            await wrap_future(self._cache.put(rendition))
        except DatabaseGone:
            # Whatever it was, to fetch at once what was refused just now is no use.
            self._again_at = self._monotonic() + AFTER_REFUSAL_S
            raise

    async def drop(self, keys: Iterable[str]) -> None:
        """Take phrases out that the catalogue no longer has."""
        gone = [(key,) for key in keys]

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "DELETE FROM renditions WHERE phrase_key = ? AND origin = 'cloud'", gone
            )

        if gone:
            await wrap_future(self._cache.store.write(change))
