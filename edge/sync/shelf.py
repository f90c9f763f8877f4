"""The cache as the catalogue sees it: renditions that the cloud sent."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Iterable

import sqlite_utils

from common.protocol.rendition import SentRendition
from edge.cache import Cache
from edge.rendition import Rendition

FULL_AT = 0.9
"""Share of the cache's budget above which nothing more is fetched: it would only push
other phrases out, and be fetched again after them."""


class Shelf:
    """Cloud renditions in the cache."""

    def __init__(self, cache: Cache, budget_bytes: int) -> None:
        """Remember the cache.

        Args:
            cache: The box's cache.
            budget_bytes: Most bytes it keeps.
        """
        self._cache = cache
        self._budget = budget_bytes

    @property
    def is_open(self) -> bool:
        """Whether the cache can be used now."""
        return self._cache.store.is_open

    def has_room(self, size: int) -> bool:
        """Whether a rendition fits without pushing others out."""
        return self._cache.stats().size_bytes + size <= self._budget * FULL_AT

    def keys(self) -> set[str]:
        """Phrase keys of the cloud's renditions at hand."""
        rows = self._cache.store.read(
            "SELECT DISTINCT phrase_key FROM renditions WHERE origin = 'cloud'"
        )
        return {row["phrase_key"] for row in rows}

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
        await wrap_future(self._cache.put(rendition))

    async def drop(self, keys: Iterable[str]) -> None:
        """Take phrases out that the catalogue no longer has."""
        gone = [(key,) for key in keys]

        def change(db: sqlite_utils.Database) -> None:
            db.conn.executemany(
                "DELETE FROM renditions WHERE phrase_key = ? AND origin = 'cloud'", gone
            )

        if gone:
            await wrap_future(self._cache.store.write(change))
