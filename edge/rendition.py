"""One recording of a phrase, as it is kept: its columns, its place, its worth."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import asdict, dataclass
from typing import Any, Literal

import sqlite_utils
from sqlite_utils import Migrations

from common.audio.provenance import AigcLabel, Provenance

HALF_LIFE_S = 7 * 24 * 3600.0
"""Seconds of silence that halve a rendition's value."""
CLOUD_WEIGHT = 8.0
"""A cloud rendition costs a network that may be gone: it leaves later."""

Origin = Literal["pack", "cloud", "stream"]

migrations = Migrations("cache")


@migrations()
def m001_renditions(db: sqlite_utils.Database) -> None:
    """The first table."""
    db.table("renditions").create(
        {
            "id": int,
            "phrase_key": str,
            "origin": str,
            "engine": str,
            "pack": str,
            "pack_sha256": str,
            "seed": int,
            "table_version": int,
            "rules_version": int,
            "quality": int,
            "verified": int,
            "text": str,
            "voice": str,
            "dialect": str,
            "symbols_sha256": str,
            "lexicon_sha256": str,
            "enforced": int,
            "duration_ms": int,
            "render_ms": int,
            "sha256": str,
            "size": int,
            "created": float,
            "played": float,
            "plays": int,
            "master": bytes,
        },
        pk="id",
        not_null={"phrase_key", "origin", "pack_sha256", "sha256", "size", "master"},
    )
    db.table("renditions").create_index(
        ["phrase_key", "origin", "engine", "pack_sha256"],
        index_name="one_rendition",
        unique=True,
    )


@dataclass(frozen=True)
class Rendition:
    """One recording of a phrase.

    Attributes:
        phrase_key: What is said, how and in which voice.
        origin: ``pack`` when this box rendered it, ``cloud`` when a signed catalogue
            brought it, ``stream`` when it was kept from a stream of the cloud.
        engine: Name of the engine.
        pack: ``name@version``; empty for an engine without packs.
        pack_sha256: Digest of the pack's manifest; empty for an engine without packs.
        seed: The seed, for an engine that has one.
        table_version: Version of the symbol table.
        rules_version: Version of the text rules.
        quality: Rank, 0 to 100.
        verified: Whether it may be trusted to say the right thing.
        text: The input it was first made for.
        voice: Logical voice.
        dialect: ``zh``, ``gd`` or ``sc``.
        symbols_sha256: Digest of the symbols that were spoken.
        lexicon_sha256: Digest of the store lexicon; empty without one.
        enforced: Whether the engine spoke our symbols.
        duration_ms: Length of the sound.
        render_ms: What it cost to make.
        master: Bytes of the Opus master.
    """

    phrase_key: str
    origin: Origin
    engine: str
    pack: str
    pack_sha256: str
    seed: int | None
    table_version: int
    rules_version: int
    quality: int
    verified: bool
    text: str
    voice: str
    dialect: str
    symbols_sha256: str
    lexicon_sha256: str
    enforced: bool
    duration_ms: int
    render_ms: int
    master: bytes

    @property
    def sha256(self) -> str:
        """Digest of the master."""
        return hashlib.sha256(self.master).hexdigest()

    def provenance(self, label: AigcLabel) -> Provenance:
        """Where it comes from, for a master that does not say so itself.

        Args:
            label: The operator's AI-content label.

        Returns:
            Its provenance.
        """
        return Provenance(
            engine=self.engine,
            pack=self.pack,
            pack_sha256=self.pack_sha256,
            verified=self.verified,
            table_version=self.table_version,
            rules_version=self.rules_version,
            seed=self.seed,
            label=label,
        )

    def row(self) -> dict[str, Any]:
        """The rendition as columns."""
        size = len(self.master)
        return asdict(self) | {"sha256": self.sha256, "size": size}

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Rendition:
        """Rebuild a rendition.

        Args:
            row: At least the columns of :data:`COLUMNS`.

        Returns:
            The rendition.
        """
        values = {name: row[name] for name in COLUMNS}
        for name in ("verified", "enforced"):
            values[name] = bool(values[name])
        return cls(**values)


COLUMNS = tuple(Rendition.__dataclass_fields__)


def value(facts: tuple[int, int, float, int, str], now: float) -> float:
    """What a rendition is worth to the box.

    Args:
        facts: Size in bytes, plays, time of the last play, render cost in
            milliseconds, origin.
        now: Seconds since 1970.

    Returns:
        Expected milliseconds saved per byte; only the order has a meaning.
    """
    size, plays, played, render_ms, origin = facts
    weight = 1.0 if origin == "pack" else CLOUD_WEIGHT
    decay: float = 2.0 ** (-max(0.0, now - played) / HALF_LIFE_S)
    return weight * (1 + plays) * (1 + render_ms) / size * decay
