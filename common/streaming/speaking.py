"""One stream's work: text into segments, segments into frames, frames to be kept.

Rules: segments are spoken one after the other in the order of the text; what is spoken
ahead is bounded by what the stream may hold; the last frame comes however the work
ends, and after it one ``end`` or one ``error``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast

from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.kept import Kept
from common.protocol.frames import Codec, Flags, Frame
from common.protocol.stream import Ended, Failed, Spoken, Start, Told
from common.protocol.synthesis import SpeechRequest, Tier
from common.speech import Pauses, Speech, new_utterance
from common.streaming.pace import Pace
from common.streaming.payloads import OpusFrames, PcmFrames
from common.streaming.sentences import Sentences

MAX_WAITING_CHARACTERS = 20_000
"""Text of a stream that waits to be spoken."""
MAX_NOTES = 16
"""Notes that ``end`` repeats at most."""

Speak = Callable[[SpeechRequest, str], Awaitable[Speech]]
"""What both tiers offer: a request and an utterance's id give speech."""

log = logging.getLogger(__name__)


class Speaking:
    """Speaks what one stream is given."""

    def __init__(
        self,
        kept: Kept,
        start: Start,
        speak: Speak,
        pace: Pace,
        *,
        takes_utterance: bool = False,
    ) -> None:
        """Begin; needs a running loop.

        Args:
            kept: Where frames and events go.
            start: How to speak.
            speak: Who speaks.
            pace: The socket's bitrate.
            takes_utterance: Whether the client may name the utterance.
        """
        self._kept = kept
        self._start = start
        self._speak = speak
        self._pace = pace
        self._utterance = start.utterance if takes_utterance else None
        self._sentences = Sentences()
        self._texts: deque[str] = deque()
        self._has_ended = False
        self._is_cancelled = False
        self._news = asyncio.Event()
        self._timestamp = 0
        self._samples = 0
        self._segments = 0
        self._tiers: list[Tier] = []
        self._notes: list[str] = []
        self._substituted: str | None = None
        if start.input is not None:
            self._texts.append(start.input)
            self._has_ended = True
        self._task = asyncio.create_task(self._run())
        kept.work = self

    def stop(self) -> None:
        """Stop at once; nothing more is kept."""
        self._task.cancel()

    def add(self, text: str) -> None:
        """Take more text.

        Args:
            text: What follows.

        Raises:
            YaoheError: ``invalid_request`` after the end; ``input_too_long``.
        """
        if self._has_ended:
            raise YaoheError("invalid_request", "text after the end", param="text")
        waiting = sum(map(len, self._texts)) + len(self._sentences)
        if waiting + len(text) > MAX_WAITING_CHARACTERS:
            raise YaoheError(
                "input_too_long",
                f"more than {MAX_WAITING_CHARACTERS} characters wait to be spoken",
                param="text",
            )
        self._take(self._sentences.add(text))

    def flush(self) -> None:
        """Speak what waits for its stop."""
        self._take(self._sentences.flush())

    def end(self) -> None:
        """Take no more text."""
        self._has_ended = True
        self.flush()

    def cancel(self) -> None:
        """Stop now; ``end`` says so."""
        self._is_cancelled = True
        self._task.cancel()

    def fail(self, error: YaoheError) -> None:
        """Stop now, with an error.

        Args:
            error: Why.
        """
        self._finish(Failed.of(error, self._kept.number).dumps())
        self._task.cancel()

    def _take(self, sentences: list[str]) -> None:
        self._texts.extend(sentences)
        self._news.set()

    async def _run(self) -> None:
        try:
            while (text := await self._next_text()) is not None:
                await self._segment(text)
            if not self._segments:
                raise YaoheError("nothing_to_say", "no text came", param="text")
            self._finish(self._ended().dumps())
        except asyncio.CancelledError:
            if self._is_cancelled:
                self._finish(self._ended().dumps())
        except YaoheError as error:
            self._finish(Failed.of(error, self._kept.number).dumps())
        except Exception:
            log.exception("a stream failed")
            wrong = YaoheError("internal_error", "something went wrong; it was logged")
            self._finish(Failed.of(wrong, self._kept.number).dumps())

    async def _next_text(self) -> str | None:
        while not self._texts:
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        return self._texts.popleft()

    async def _segment(self, text: str) -> None:
        """Speak one segment to its end."""
        utterance = self._utterance or new_utterance()
        try:
            request = self._start.request(text)
            speech = await self._speak(request, utterance)
        except YaoheError as error:
            is_only = self._start.input is not None
            if error.code == "nothing_to_say" and not is_only:
                # A line of dashes between two sentences fails neither.
                return
            raise
        try:
            await self._frames(speech, request)
        finally:
            close: Any = getattr(speech.chunks, "aclose", None)
            if close is not None:
                await close()

    async def _frames(self, speech: Speech, request: SpeechRequest) -> None:
        kept, number = self._kept, self._segments
        source: OpusFrames | PcmFrames = (
            OpusFrames(speech, self._pace, self._start.bitrate)
            if self._start.codec == "opus"
            else PcmFrames(speech)
        )
        find = speech.pauses if self._start.pauses else None
        pauses = await find() if find is not None else None
        kept.tell(self._told(speech, request, source.pre_skip, pauses).dumps())
        self._segments += 1
        flags = Flags.DISCONTINUITY
        async with aclosing(cast(Any, aiter(source))) as payloads:
            async for payload in payloads:
                frame = Frame(
                    kept.number,
                    kept.frames,
                    self._timestamp,
                    source.codec,
                    payload.data,
                    flags,
                )
                await kept.put(frame)
                self._timestamp += payload.samples
                flags = Flags(0)
        self._samples += source.samples
        self._tiers += [t for t in speech.tiers if t not in self._tiers]
        self._notes = [*self._notes, *speech.notes][:MAX_NOTES]
        self._substituted = speech.substituted or self._substituted
        spoken = Spoken(
            stream=kept.number,
            segment=number,
            samples=source.samples,
            tiers=tuple(speech.tiers),
            notes=tuple(speech.notes),
        )
        kept.tell(spoken.dumps())

    def _told(
        self,
        speech: Speech,
        request: SpeechRequest,
        pre_skip: int,
        pauses: Pauses | None,
    ) -> Told:
        origin = speech.provenance.with_id(speech.utterance)
        return Told(
            stream=self._kept.number,
            segment=self._segments,
            seq=self._kept.frames,
            timestamp=self._timestamp,
            pre_skip=pre_skip,
            utterance=speech.utterance,
            text=request.input,
            tier=speech.tier,
            reason=speech.reason,
            substituted=speech.substituted,
            enforced=speech.receipt.enforced,
            surface=speech.receipt.reading.surface,
            provenance=dict(origin.comments()),
            receipt=speech.receipt.as_dict() if request.receipt else None,
            pauses=pauses,
        )

    def _ended(self) -> Ended:
        return Ended(
            stream=self._kept.number,
            frames=self._kept.frames + 1,
            segments=self._segments,
            samples=self._samples,
            duration_ms=round(self._samples * 1000 / SAMPLE_RATE),
            tiers=tuple(self._tiers),
            substituted=self._substituted,
            cancelled=self._is_cancelled,
            notes=tuple(self._notes),
        )

    def _finish(self, event: str) -> None:
        """Send the last frame and the event after it."""
        kept = self._kept
        codec = Codec.OPUS if self._start.codec == "opus" else Codec.PCM16
        last = Frame(kept.number, kept.frames, self._timestamp, codec, b"", Flags.LAST)
        kept.finish(last, event)
