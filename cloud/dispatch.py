"""From a request to sound: reading, cache, a slot, the engine, in this order.

Rules: an error before the first sound is the answer's status; a deadline is for the
first sound; a caller that leaves stops the work at the engine's next step; a finished
sound is kept and the same words are answered from memory.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Hashable
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

import numpy as np

from cloud.engine.base import (
    Chunk,
    Drawing,
    Engine,
    HasWorkers,
    Job,
    KnowsClauses,
    Origin,
    places,
)
from cloud.metrics import Metrics
from cloud.renditions import Renditions
from cloud.settings import CloudSettings
from common.admission import Admission, Priority
from common.ahead import Ahead
from common.audio.pcm import SAMPLE_RATE
from common.audio.provenance import AigcLabel, Provenance
from common.errors import YaoheError
from common.phrase import phrase_key
from common.protocol.synthesis import (
    DEFAULT_DIALECT,
    DEFAULT_MODEL,
    DEFAULT_VOICE,
    SpeechRequest,
    unknown_model,
    unknown_voice,
)
from common.receipts import ReceiptBook
from common.speech import Speech, Whole, require_speakable
from common.text import RULES_VERSION, LexiconFile, read
from common.text.receipt import Receipt
from common.text.symbols import TABLE_VERSION

RETRY_WHILE_LOADING_S = 2
"""When to ask again while the engine loads, seconds."""

_log = logging.getLogger(__name__)


class Chosen(NamedTuple):
    """Who speaks a request.

    Attributes:
        voice: A voice of the engine.
        dialect: A dialect of that voice.
        substituted: What of them stands in for what was asked, if anything does.
    """

    voice: str
    dialect: str
    substituted: str | None


class Dispatch:
    """Speaks requests with one engine."""

    def __init__(
        self,
        engine: Engine,
        settings: CloudSettings,
        metrics: Metrics,
        receipts: ReceiptBook,
    ) -> None:
        """Put the parts together.

        Args:
            engine: What speaks.
            settings: The cloud's settings.
            metrics: Where to count.
            receipts: Where receipts are kept.
        """
        self.engine = engine
        self._settings = settings
        self._metrics = metrics
        self._receipts = receipts
        own = settings.lexicon
        self._lexicon = LexiconFile(own) if own is not None else None
        self._renditions = Renditions(settings.cache.max_bytes)
        self._admission = Admission(lambda: places(engine), settings.queue.capacity)
        if isinstance(engine, HasWorkers):
            engine.on_change(self._admission.wake)
        metrics.watch(engine, self._admission)
        metrics.cached.set_function(lambda: self._renditions.held_bytes)

    async def speak(
        self,
        request: SpeechRequest,
        utterance: str,
        *,
        priority: Priority = Priority.CALL,
        may_stand_in: bool = True,
    ) -> Speech:
        """Speak a request.

        Args:
            request: A checked request.
            utterance: Its id.
            priority: Who goes first where slots are scarce.
            may_stand_in: Whether the engine's own first voice may speak for the usual
                one, declared.

        Returns:
            Speech whose first sound is there. Whoever takes chunks closes them.

        Raises:
            YaoheError: Why there is no sound.
        """
        began = time.monotonic()
        chosen = self.choose(request, may_stand_in=may_stand_in)
        # Thousands of characters take longer than the loop may stand still.
        reading = await asyncio.to_thread(
            read,
            request.input,
            chosen.dialect,
            lexicon=self._lexicon.current() if self._lexicon else None,
            context=request.context,
            ssml=request.ssml,
        )
        require_speakable(reading, request)
        receipt = Receipt(utterance, reading, self.engine.enforced)
        self._receipts.keep(receipt)
        job = Job(
            utterance,
            reading,
            voice=chosen.voice,
            dialect=chosen.dialect,
            speed=request.speed,
            pitch=request.pitch,
            volume=request.volume,
            seed=request.seed,
            deadline=began + self._patience_s(request),
            drawing=Drawing(
                request.temperature,
                request.top_p,
                request.top_k,
                request.repetition_penalty,
            ),
        )
        origin = self.engine.origin(job.voice, job.dialect)
        speech = self._cached(job, receipt, origin)
        if speech is None:
            chunks = await self._begun(job, origin, priority)
            speech = Speech(
                utterance,
                receipt,
                tier="cloud",
                reason=f"spoken by {origin.engine}",
                provenance=self._provenance(origin, job.seed),
                chunks=chunks,
            )
        speech.substituted = chosen.substituted
        if isinstance(self.engine, KnowsClauses):
            speech.pauses = partial(self.engine.clause_ends, job)
        waited = time.monotonic() - began
        speech.first_audio_ms = waited * 1000
        self._metrics.began(speech.tier, waited)
        return speech

    def choose(self, request: SpeechRequest, *, may_stand_in: bool = True) -> Chosen:
        """Find out who speaks a request.

        Args:
            request: A checked request.
            may_stand_in: Whether the engine's first voice may speak for the usual one.

        Returns:
            Voice and dialect.

        Raises:
            YaoheError: ``not_found`` for the model, ``not_ready``, ``unknown_voice`` or
                ``voice_unavailable``.
        """
        if request.model != DEFAULT_MODEL:
            raise unknown_model(request.model)
        if not self.engine.is_ready:
            raise YaoheError(
                "not_ready",
                "no engine takes requests yet, or any more",
                retry_after_s=RETRY_WHILE_LOADING_S,
            )
        repertoire = self.engine.repertoire
        voice = request.voice
        instead: list[str] = []
        if voice not in repertoire and voice == DEFAULT_VOICE and may_stand_in:
            # Callers who name no voice, or one of OpenAI's, ask for this one.
            voice = next(iter(repertoire), voice)
            instead.append(voice)
        if voice not in repertoire:
            raise unknown_voice(voice)
        dialect, dialects = request.dialect, repertoire[voice]
        if dialect not in dialects:
            if request.fallback != "mandarin" or DEFAULT_DIALECT not in dialects:
                raise YaoheError(
                    "voice_unavailable",
                    f"voice {voice!r} does not speak {dialect!r} here; "
                    "fallback=mandarin would let Mandarin stand in",
                    param="dialect",
                )
            dialect = DEFAULT_DIALECT
            instead.append(dialect)
        return Chosen(voice, dialect, ",".join(instead) or None)

    def _patience_s(self, request: SpeechRequest) -> float:
        """Seconds to the first sound."""
        return (request.deadline_ms or self._settings.queue.first_audio_ms) / 1000

    def _cached(self, job: Job, receipt: Receipt, origin: Origin) -> Speech | None:
        """The finished sound of the same words, if it is kept."""
        pcm = self._renditions.find(_key(job, origin))
        if pcm is None:
            return None
        return Speech(
            job.utterance,
            receipt,
            tier="cache",
            reason="spoken before",
            provenance=self._provenance(origin, job.seed),
            whole=Whole(pcm.size / SAMPLE_RATE, pcm=pcm),
        )

    async def _begun(self, job: Job, origin: Origin, priority: Priority) -> Ahead:
        """Start a job and wait for its first sound."""
        ahead = Ahead(
            self._made(job, origin, priority),
            int(self._settings.queue.ahead_s * SAMPLE_RATE),
        )
        patience = (job.deadline or 0.0) - time.monotonic()
        try:
            has_sound = await asyncio.wait_for(ahead.started(), patience)
        except asyncio.TimeoutError:
            await ahead.aclose()
            raise YaoheError(
                "deadline_exceeded", "no sound within the deadline"
            ) from None
        except BaseException:
            await ahead.aclose()
            raise
        if not has_sound:
            await ahead.aclose()
            raise YaoheError("voice_unavailable", "the engine gave no sound")
        return ahead

    async def _made(
        self, job: Job, origin: Origin, priority: Priority
    ) -> AsyncGenerator[Chunk, None]:
        """A job's sound, made in a slot, counted and kept."""
        kept: list[Chunk] = []
        samples = 0
        try:
            async with self._admission.slot(priority):
                began = time.monotonic()
                async with aclosing(self.engine.synthesize(job)) as chunks:
                    async for chunk in chunks:
                        samples += chunk.size
                        kept.append(chunk)
                        if samples > self._renditions.max_samples:
                            # It will not be kept: an hour of sound is no small thing.
                            kept.clear()
                        yield chunk
                worked = time.monotonic() - began
        except (GeneratorExit, asyncio.CancelledError):
            self._metrics.stopped.inc()
            _log.info("stopped", extra={"utterance": job.utterance})
            raise
        self._metrics.finished(origin.engine, samples / SAMPLE_RATE, worked)
        if 0 < samples <= self._renditions.max_samples:
            self._renditions.keep(_key(job, origin), np.concatenate(kept))

    def _provenance(self, origin: Origin, seed: int | None) -> Provenance:
        """What every container says about its sound."""
        label = self._settings.label
        return Provenance(
            engine=origin.engine,
            pack=origin.pack,
            pack_sha256=origin.sha256,
            verified=origin.verified,
            table_version=TABLE_VERSION if self.engine.enforced else 0,
            rules_version=RULES_VERSION,
            seed=seed,
            label=AigcLabel(producer=label.producer, propagator=label.propagator),
        )


def _key(job: Job, origin: Origin) -> Hashable:
    """What makes two finished sounds the same."""
    phrase = phrase_key(
        job.symbols,
        voice=job.voice,
        dialect=job.dialect,
        speed=job.speed,
        pitch=job.pitch,
        volume=job.volume,
    )
    return (phrase, origin.sha256, job.seed, job.drawing, job.text)
