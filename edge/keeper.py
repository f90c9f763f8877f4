"""Keeps what was spoken to its end: encodes the master, writes it to the cache.

Works on a thread of its own, so that encoding never delays the next first sound. What
cannot be kept is counted and forgotten: the shop has heard it already.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from common.audio.opus import encode_master
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Provenance
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest
from edge.cache import Cache
from edge.db import DatabaseGone
from edge.metrics import EdgeMetrics
from edge.readings import Read
from edge.rendition import Origin, Rendition

MAX_WAITING = 16
"""Finished utterances that wait to be encoded; one more is not kept."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """A finished utterance.

    Attributes:
        key: Its phrase key.
        request: What was asked for.
        read: How it was read.
        provenance: Where the sound comes from.
        quality: Rank of the pack that spoke.
        utterance: Its id.
        origin: Who spoke: a pack of this box, or the cloud over a stream.
    """

    key: str
    request: SpeechRequest
    read: Read
    provenance: Provenance
    quality: int
    utterance: str
    origin: Origin = "pack"


class Keeper:
    """Writes finished utterances to the cache."""

    def __init__(self, cache: Cache, metrics: EdgeMetrics) -> None:
        """Start the thread.

        Args:
            cache: Where to.
            metrics: Where to count.
        """
        self._cache = cache
        self._metrics = metrics
        self._waiting: set[tuple[str, str, str]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keeper")

    def keep(self, finished: Finished, pcm: Pcm, busy_s: float) -> None:
        """Keep a finished utterance; called from any thread, returns at once.

        Args:
            finished: What it is.
            pcm: All of its samples, shape (n,).
            busy_s: Seconds it took to make.
        """
        name = _name(finished)
        if name in self._waiting:
            # Said again before the first was written: one of them is enough.
            return
        if len(self._waiting) >= MAX_WAITING:
            self._metrics.not_kept.inc()
            return
        self._waiting.add(name)
        try:
            self._thread.submit(self._encode, finished, pcm, busy_s)
        except RuntimeError:
            # The box is stopping.
            self._waiting.discard(name)

    def close(self) -> None:
        """Finish what waits and stop the thread."""
        self._thread.shutdown()

    def _encode(self, finished: Finished, pcm: Pcm, busy_s: float) -> None:
        self._waiting.discard(_name(finished))
        provenance = finished.provenance.with_id(finished.utterance)
        try:
            master = encode_master(pcm, provenance.comments())
            rendition = Rendition(
                phrase_key=finished.key,
                origin=finished.origin,
                engine=provenance.engine,
                pack=provenance.pack,
                pack_sha256=provenance.pack_sha256,
                seed=provenance.seed,
                table_version=provenance.table_version,
                rules_version=provenance.rules_version,
                quality=finished.quality,
                verified=provenance.verified,
                text=finished.request.input,
                voice=finished.request.voice,
                dialect=finished.read.reading.dialect,
                symbols_sha256=finished.read.symbols_sha256,
                lexicon_sha256=finished.read.lexicon_sha256,
                enforced=True,
                duration_ms=round(pcm.size / SAMPLE_RATE * 1000),
                render_ms=round(busy_s * 1000),
                master=master.to_bytes(),
            )
            self._cache.put(rendition).add_done_callback(self._count)
        except (YaoheError, ValueError) as error:
            self._metrics.not_kept.inc()
            log.warning("an utterance is not kept: %s", error)

    def _count(self, written: Future[int]) -> None:
        error = written.exception()
        if error is None:
            self._metrics.kept.inc()
            return
        self._metrics.not_kept.inc()
        if not isinstance(error, DatabaseGone):
            log.error("an utterance is not kept", exc_info=error)


def _name(finished: Finished) -> tuple[str, str, str]:
    """What two utterances share that would be one rendition."""
    return finished.key, finished.origin, finished.provenance.pack_sha256
