"""What shops say most: counts summed up, the hottest phrases wished for.

A phrase is wished for when this cloud reads it as the shop did: same rules, and with
the chain's own lexicon the same key. Otherwise nobody would play it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cloud.fleet.db import FleetDb
from cloud.fleet.rendering import Wishes
from common.errors import YaoheError
from common.phrase import phrase_key
from common.protocol.reports import Event
from common.protocol.synthesis import Tier
from common.text import RULES_VERSION, Lexicon, LexiconFile, read

KIND = "spoken"
HOT_PLAYS = 5
"""Plays in all shops together that make a phrase hot."""
MAX_HOT = 20
"""Phrases wished for at a time."""
MAX_LOOKED_AT = 500
"""Hot phrases looked at for them: those that a shop reads by its own words stay hot."""
KEEP_S = 30 * 24 * 3600
"""Counts of phrases that nobody has said since are forgotten."""

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Short = Annotated[str, StringConstraints(max_length=128)]


class Heat(BaseModel):
    """Plays of one phrase on one box."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    key: Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{32}\z")]
    text: Text
    voice: Short
    dialect: Short
    rules: Annotated[int, Field(ge=0, le=2**31)]
    lexicon: Short = ""
    plays: Count


class Counts(BaseModel):
    """The body of an event of kind ``spoken``."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    phrases: Annotated[list[Heat], Field(max_length=1000)] = Field(default_factory=list)
    tiers: dict[Tier, Count] = Field(default_factory=dict)


class Ranking:
    """Sums up what boxes report."""

    def __init__(
        self,
        db: FleetDb,
        wishes: Wishes,
        now: Callable[[], float] = time.time,
        lexicon: LexiconFile | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            db: The fleet's database.
            wishes: Where hot phrases are wished for.
            now: Seconds since 1970.
            lexicon: The words that the cloud's engine is read with.
        """
        self._lexicon = lexicon
        self._db = db
        self._wishes = wishes
        self._now = now

    def take(self, db: sqlite3.Connection, box: str, event: Event) -> None:
        """Add the counts of an event that is news; runs in the caller's transaction.

        Args:
            db: The transaction's connection.
            box: Which box.
            event: What it reports; another kind, or a broken body, counts nothing.
        """
        if event.kind != KIND:
            return
        counts = _counts(event.body)
        if counts is None:
            return
        now = int(self._now())
        db.executemany(
            "INSERT INTO tiers VALUES (?, ?, ?) ON CONFLICT (box, tier) DO UPDATE "
            "SET spoken = spoken + excluded.spoken",
            [(box, tier, count) for tier, count in counts.tiers.items()],
        )
        db.executemany(
            "INSERT INTO heat VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?) "
            "ON CONFLICT (key) DO UPDATE SET plays = plays + excluded.plays, "
            "boxes = boxes + 1, last = excluded.last",
            [
                (
                    *(each.key, each.text, each.voice, each.dialect),
                    *(each.rules, each.lexicon, each.plays, now),
                )
                for each in counts.phrases
            ],
        )

    def wish(self) -> int:
        """Wish for the hottest phrases that no catalogue has and nobody wished for.

        Returns:
            How many.
        """
        rows = self._db.read(
            "SELECT * FROM heat WHERE plays >= ? AND rules = ? "
            "AND NOT EXISTS (SELECT 1 FROM wishes WHERE wishes.text = heat.text "
            "AND wishes.voice = heat.voice AND wishes.dialect = heat.dialect) "
            "ORDER BY plays DESC LIMIT ?",
            (HOT_PLAYS, RULES_VERSION, MAX_LOOKED_AT),
        )
        wished = 0
        lexicon = self._lexicon.current() if self._lexicon else None
        for row in rows:
            if wished >= MAX_HOT:
                break
            if not _is_read_alike(row, lexicon):
                continue
            try:
                self._wishes.add(
                    row["text"],
                    voice=row["voice"],
                    dialect=row["dialect"],
                    origin="heat",
                )
            except YaoheError as error:
                if error.code == "queue_full":
                    break
                continue
            wished += 1
        return wished

    def forget_old(self) -> None:
        """Forget phrases that nobody says any more."""
        with self._db.change() as db:
            db.execute("DELETE FROM heat WHERE last < ?", (int(self._now()) - KEEP_S,))


def _counts(body: dict[str, Any]) -> Counts | None:
    try:
        return Counts.model_validate(body)
    except ValidationError:
        return None


def _is_read_alike(row: sqlite3.Row, lexicon: Lexicon | None) -> bool:
    """Whether the text gives the shop's key here too."""
    try:
        symbols = read(row["text"], row["dialect"], lexicon=lexicon).symbols
    except YaoheError:
        return False
    key = phrase_key(symbols, voice=row["voice"], dialect=row["dialect"])
    return key == str(row["key"])
