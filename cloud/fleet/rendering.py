"""Phrases rendered for the catalogue: wishes in, renditions out.

Rules of this module:

* A wish is a row in the database: from the operator's command line or page, or from
  what shops say most. Whoever renders marks it done or says why not.
* An engine that chooses readings itself is heard by a recogniser before boxes get its
  phrase; where that objects, or there is none, an engine of symbols speaks instead.
* The text is read here; when shops read it otherwise (another version of the rules,
  another lexicon), their key is another and nothing is rendered for them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloud.fleet.catalogue import Catalogue
from cloud.fleet.db import FleetDb
from cloud.fleet.hearing import objection
from common.ahead import Ahead
from common.audio.opus import encode_master
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.errors import YaoheError
from common.phrase import phrase_key
from common.protocol import topics
from common.protocol.rendition import SentRendition
from common.protocol.synthesis import (
    DEFAULT_DIALECT,
    DEFAULT_VOICE,
    SpeechRequest,
    parse_speech,
)
from common.speech import Speech, new_utterance
from common.text.receipt import Reading

QUALITY = 80
"""Rank of a rendition by the cloud's engine, above a box's own packs."""
MAX_WISHES = 1000
"""Wishes that may wait."""

Speak = Callable[[SpeechRequest, str], Awaitable[Speech]]
Hear = Callable[[Pcm], Awaitable[str]]

log = logging.getLogger(__name__)


class Wish(NamedTuple):
    """A phrase that somebody wants.

    Attributes:
        number: Its number.
        scope: Whose boxes shall have it.
        text: What is said.
        voice: Logical voice.
        dialect: The dialect.
        origin: ``operator`` or ``heat``.
        state: ``waiting``, ``done`` or ``refused``.
        key: The phrase key, hex, once rendered.
        error: Why it was refused.
    """

    number: int
    scope: str
    text: str
    voice: str
    dialect: str
    origin: str
    state: str
    key: str | None
    error: str | None


class Wishes:
    """Phrases that somebody wants."""

    def __init__(self, db: FleetDb, now: Callable[[], float] = time.time) -> None:
        """Remember where they are kept.

        Args:
            db: The fleet's database.
            now: Seconds since 1970.
        """
        self._db = db
        self._now = now

    def add(
        self,
        text: str,
        *,
        voice: str = DEFAULT_VOICE,
        dialect: str = DEFAULT_DIALECT,
        scope: str = topics.EVERYONE,
        origin: str = "operator",
    ) -> int:
        """Wish for a phrase.

        Args:
            text: What is said.
            voice: Logical voice.
            dialect: The dialect.
            scope: Whose boxes shall have it.
            origin: Who wants it.

        Returns:
            The wish's number.

        Raises:
            YaoheError: The text, voice, dialect or scope cannot be; ``queue_full``.
        """
        request = parse_speech({"input": text, "voice": voice, "dialect": dialect})
        str(topics.Head("any", scope))
        with self._db.change() as db:
            waiting = db.execute(
                "SELECT count(*) FROM wishes WHERE state = 'waiting'"
            ).fetchone()[0]
            if waiting >= MAX_WISHES:
                raise YaoheError("queue_full", f"{waiting} phrases wait already")
            added = db.execute(
                "INSERT INTO wishes (scope, text, voice, dialect, asked, origin) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    *(scope, request.input, request.voice, request.dialect),
                    *(int(self._now()), origin),
                ),
            )
            return int(added.lastrowid or 0)

    def find(self, number: int) -> Wish:
        """A wish by its number.

        Raises:
            YaoheError: ``not_found``: there is none.
        """
        rows = self._db.read("SELECT * FROM wishes WHERE id = ?", (number,))
        if not rows:
            raise YaoheError("not_found", f"no wish {number}")
        return _wish(rows[0])

    def waiting(self, limit: int = 1) -> list[Wish]:
        """The oldest wishes that nobody has settled."""
        rows = self._db.read(
            "SELECT * FROM wishes WHERE state = 'waiting' ORDER BY id LIMIT ?", (limit,)
        )
        return [_wish(row) for row in rows]

    def unfinished(self, limit: int) -> list[Wish]:
        """Wishes that wait or were refused, the newest first."""
        rows = self._db.read(
            "SELECT * FROM wishes WHERE state != 'done' ORDER BY id DESC LIMIT ?",
            (limit,),
        )
        return [_wish(row) for row in rows]

    def settle(self, wish: Wish, *, key: str = "", error: str = "") -> None:
        """Mark a wish done, or say why not."""
        with self._db.change() as db:
            db.execute(
                "UPDATE wishes SET state = ?, key = ?, error = ? WHERE id = ?",
                (
                    *("refused" if error else "done", key or None, error or None),
                    wish.number,
                ),
            )


class Made(NamedTuple):
    """A recording that was just made.

    Attributes:
        rendition: What boxes get.
        reading: What it should say.
        pcm: Its samples.
    """

    rendition: SentRendition
    reading: Reading
    pcm: Pcm


class Renderer:
    """Renders wishes with the cloud's engine."""

    def __init__(
        self,
        wishes: Wishes,
        catalogue: Catalogue,
        speak: Speak,
        *,
        hear: Hear | None = None,
        spare: Speak | None = None,
    ) -> None:
        """Put the parts together.

        Args:
            wishes: What is wanted.
            catalogue: Where renditions go.
            speak: Speaks a request; the cloud's dispatch.
            hear: Writes down what a recording says; None where there is no recogniser.
            spare: Speaks with an engine of symbols; None where there is none.
        """
        self._hear = hear
        self._spare = spare
        self._wishes = wishes
        self._catalogue = catalogue
        self._speak = speak

    async def render_next(self) -> bool:
        """Settle the oldest wish.

        Returns:
            Whether there was one. An engine that is not ready leaves it waiting.
        """
        waiting = await asyncio.to_thread(self._wishes.waiting)
        if not waiting:
            return False
        wish = waiting[0]
        try:
            made = await self.render(wish, self._speak)
            rendition, wrong = made.rendition, ""
            if not rendition.enforced and (wrong := await self._objection(made)):
                log.warning("%s is said anew: %s", made.reading.text, wrong)
                rendition = await self._by_symbols(wish, wrong)
            put = partial(self._catalogue.put, checked=not wrong)
            await asyncio.to_thread(put, wish.scope, rendition)
        except YaoheError as error:
            if error.code in ("not_ready", "queue_full", "deadline_exceeded"):
                log.info("a phrase waits: %s", error.message)
                return False
            log.warning("a phrase is refused: %s", error.message)
            await asyncio.to_thread(self._wishes.settle, wish, error=error.message)
        else:
            key = rendition.key.hex()
            await asyncio.to_thread(self._wishes.settle, wish, key=key)
        return True

    async def _objection(self, made: Made) -> str:
        """Why a recording may be wrong; empty where it is heard to be right."""
        if self._hear is None:
            return "no recogniser is configured to hear it"
        try:
            heard = await self._hear(made.pcm)
        except YaoheError as error:
            return error.message
        return objection(made.reading, heard, made.pcm.size / SAMPLE_RATE)

    async def _by_symbols(self, wish: Wish, wrong: str) -> SentRendition:
        if self._spare is None:
            raise YaoheError("invalid_request", f"it may be said wrongly: {wrong}")
        return (await self.render(wish, self._spare)).rendition

    async def render(self, wish: Wish, speak: Speak) -> Made:
        """Speak a wish to its end.

        Args:
            wish: What is wanted.
            speak: Who speaks.

        Returns:
            The recording, with everything that is known about it.

        Raises:
            YaoheError: Why there is none.
        """
        request = parse_speech(
            {"input": wish.text, "voice": wish.voice, "dialect": wish.dialect}
        )
        utterance = new_utterance()
        began = time.monotonic()
        speech = await speak(request, utterance)
        if speech.whole is not None and speech.whole.pcm is not None:
            pcm = speech.whole.pcm
        elif speech.chunks is not None:
            pcm = await _whole(speech.chunks)
        else:
            raise YaoheError("internal_error", "the engine gave no samples")
        worked_ms = round((time.monotonic() - began) * 1000)
        provenance = speech.provenance.with_id(utterance)
        master = await asyncio.to_thread(encode_master, pcm, provenance.comments())
        reading = speech.receipt.reading
        symbols = reading.symbols
        key = phrase_key(symbols, voice=request.voice, dialect=request.dialect)
        rendition = SentRendition(
            key=bytes.fromhex(key),
            text=request.input,
            voice=request.voice,
            dialect=request.dialect,
            engine=provenance.engine,
            pack=provenance.pack,
            pack_sha256=provenance.pack_sha256,
            seed=provenance.seed,
            table_version=provenance.table_version,
            rules_version=provenance.rules_version,
            quality=QUALITY,
            symbols_sha256=hashlib.sha256(
                json.dumps(symbols, separators=(",", ":")).encode()
            ).hexdigest(),
            lexicon_sha256=reading.lexicon_sha256,
            enforced=speech.receipt.enforced,
            duration_ms=round(pcm.size / SAMPLE_RATE * 1000),
            render_ms=worked_ms,
            master=master.to_bytes(),
        )
        return Made(rendition, reading, pcm)


async def _whole(chunks: AsyncIterator[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Take all chunks, and let go of their source whatever happens."""
    try:
        return np.concatenate([chunk async for chunk in chunks])
    finally:
        if isinstance(chunks, AsyncGenerator | Ahead):
            await chunks.aclose()


def _wish(row: sqlite3.Row) -> Wish:
    return Wish(
        *(row["id"], row["scope"], row["text"], row["voice"], row["dialect"]),
        *(row["origin"], row["state"], row["key"], row["error"]),
    )
