"""The HTTP answer to a speech call, the same on both tiers and for any framework.

Rules of this module:

* A finished sound has its true length, an entity tag, and answers one byte range. A
  sound that is still being made is sent as it comes.
* The first sound is there before the status is decided: an engine that fails or gives
  nothing is an error, never an empty 200. What fails later breaks the connection off,
  so that no client takes half a sentence for a whole one; an event stream says why.
* Whoever stops reading stops the work: :meth:`Answer.aclose` closes the engine's
  iterator, however far the answer got.
* Compressing runs in a thread, so that other callers are not kept waiting.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import string
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from common.audio.containers import UNCODED, encode_whole, media_type, stream_encoder
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Provenance
from common.audio.sounding import Sounding
from common.errors import YaoheError
from common.events import MEDIA_TYPE, live_events, whole_events
from common.ranges import entity_tag, is_known, parse_range

if TYPE_CHECKING:
    from common.audio.containers import StreamEncoder
    from common.protocol.synthesis import SpeechRequest
    from common.speech import Speech, Whole

EXPOSED_HEADERS = (
    *("X-Yaohe-Utterance", "X-Yaohe-Tier", "X-Yaohe-Substituted", "X-Yaohe-Reason"),
    *("X-Yaohe-Sample-Rate", "ETag", "Content-Range", "Accept-Ranges", "Retry-After"),
)
"""Headers that a page of another origin may read."""
MAX_HEADER = 256
"""Characters of a header value of ours at most."""

_PRINTABLE = string.digits + string.ascii_letters + string.punctuation + " "
_PLAIN = _PRINTABLE.replace("%", "")


@dataclass
class Answer:
    """An HTTP answer that any framework can send.

    Attributes:
        status: HTTP status.
        headers: All headers but ``Content-Type``.
        media_type: The value of ``Content-Type``.
        body: All bytes, or an iterator of them.
    """

    status: int
    headers: dict[str, str]
    media_type: str
    body: bytes | AsyncIterator[bytes]
    _sounding: Sounding | None = field(default=None, repr=False)

    async def aclose(self) -> None:
        """Stop the work behind the answer; call it when nobody reads any more."""
        if isinstance(self.body, AsyncGenerator):
            await self.body.aclose()
        if self._sounding is not None:
            await self._sounding.aclose()

    async def head(self) -> Answer:
        """The same answer without its body, for ``HEAD``; the work stops."""
        await self.aclose()
        return replace(self, body=b"", _sounding=None)


async def speech_answer(
    request: SpeechRequest,
    speech: Speech,
    *,
    range_header: str | None = None,
    if_none_match: str | None = None,
    if_range: str | None = None,
    cacheable: bool = False,
) -> Answer:
    """Turn a synthesis into an answer.

    Args:
        request: What was asked.
        speech: What is being said.
        range_header: The request's ``Range``; for finished sounds only.
        if_none_match: The request's ``If-None-Match``; likewise.
        if_range: The request's ``If-Range``; where it names other bytes than ours the
            range is passed over.
        cacheable: Whether the client may keep the answer and ask whether it still
            holds (``GET``).

    Returns:
        The answer. Of an iterator the first bytes are certain to come.

    Raises:
        YaoheError: ``unsupported_format``, ``voice_unavailable`` for a sound that is
            empty, or what the engine raised before its first sound.
    """
    headers = _headers(speech)
    headers["Cache-Control"] = "private, no-cache" if cacheable else "no-store"
    if speech.whole is None:
        return await _live(request, speech, headers)
    audio = await _encoded(request.response_format, speech.provenance, speech.whole)
    seconds = speech.whole.duration_s
    if request.stream_format == "sse":
        events = whole_events(speech, audio, seconds, has_receipt=request.receipt)
        return Answer(200, headers, MEDIA_TYPE, events)
    if request.receipt:
        return _with_receipt(request, speech, headers, audio, seconds)
    kind = media_type(request.response_format)
    tag = entity_tag(audio)
    headers |= {"ETag": tag, "Accept-Ranges": "bytes"}
    if is_known(if_none_match, tag):
        return Answer(304, headers, kind, b"")
    is_same = if_range is None or if_range.strip() == tag
    return _finished(audio, kind, headers, range_header if is_same else None)


def _headers(speech: Speech) -> dict[str, str]:
    """What every answer says about its speech."""
    headers = {
        "X-Yaohe-Utterance": speech.utterance,
        "X-Yaohe-Tier": speech.tier,
        "X-Yaohe-Reason": speech.reason,
        "X-Yaohe-Sample-Rate": str(SAMPLE_RATE),
    }
    if speech.substituted is not None:
        headers["X-Yaohe-Substituted"] = speech.substituted
    # A header is ASCII on one line, whatever a reason says.
    return {
        name: quote(value[:MAX_HEADER], _PLAIN, errors="replace")
        for name, value in headers.items()
    }


def _finished(
    audio: bytes, kind: str, headers: dict[str, str], range_header: str | None
) -> Answer:
    """All bytes, or the part of them that was asked for."""
    status, part = 200, parse_range(range_header, len(audio))
    if part is not None and part.is_empty:
        headers["Content-Range"] = f"bytes */{len(audio)}"
        status, audio = 416, b""
    elif part is not None:
        last = part.end - 1
        headers["Content-Range"] = f"bytes {part.start}-{last}/{len(audio)}"
        status, audio = 206, audio[part.start : part.end]
    headers["Content-Length"] = str(len(audio))
    return Answer(status, headers, kind, audio)


async def _encoded(response_format: str, origin: Provenance, whole: Whole) -> bytes:
    """A finished sound in its container."""
    is_copied = response_format == "opus" and whole.opus is not None
    is_at_hand = response_format in UNCODED and whole.pcm is not None
    named = origin.with_id(_content_id(whole))
    if is_copied or is_at_hand:
        return encode_whole(response_format, whole, named)
    name = (response_format, named)
    known = None if whole.files is None else whole.files.find(name)
    if known is not None:
        return known
    audio = await asyncio.to_thread(encode_whole, response_format, whole, named)
    if whole.files is not None:
        whole.files.keep(name, audio)
    return audio


def _content_id(whole: Whole) -> str:
    """The id that a sound already has, or one made of its samples."""
    said = whole.opus.comments if whole.opus is not None else ()
    known = Provenance.from_comments(said)
    if known is not None and known.label.produce_id:
        return known.label.produce_id
    digest = hashlib.blake2b(digest_size=16)
    if whole.opus is not None:
        digest.update(b"".join(whole.opus.packets))
    elif whole.pcm is not None:
        digest.update(whole.pcm.tobytes())
    return digest.hexdigest()


async def _live(
    request: SpeechRequest, speech: Speech, headers: dict[str, str]
) -> Answer:
    """An answer to a sound that is still being made."""
    if speech.chunks is None:
        raise YaoheError("internal_error", "The speech has no sound.")
    sounding = Sounding(speech.chunks)
    # A proxy that gathers an answer before it passes it on would undo the streaming.
    headers |= {"Accept-Ranges": "none", "X-Accel-Buffering": "no"}
    try:
        kind = media_type(request.response_format)
        origin = speech.provenance.with_id(speech.utterance)
        encoder = stream_encoder(request.response_format, origin)
        await sounding.begin()
        is_direct = request.response_format in UNCODED
        pieces = _pieces(sounding, encoder, is_direct)
        if request.stream_format == "sse":
            events = live_events(speech, sounding, pieces, has_receipt=request.receipt)
            return Answer(200, headers, MEDIA_TYPE, events, sounding)
        if request.receipt:
            audio = b"".join([piece async for piece in pieces])
            seconds = sounding.samples / SAMPLE_RATE
            return _with_receipt(request, speech, headers, audio, seconds)
    except BaseException:
        await sounding.aclose()
        raise
    return Answer(200, headers, kind, pieces, sounding)


async def _pieces(
    sounding: Sounding, encoder: StreamEncoder, is_direct: bool
) -> AsyncGenerator[bytes, None]:
    """A sound's bytes as they are ready; the engine stops when this does."""
    try:
        async for chunk in sounding:
            piece = await _run(encoder, chunk, is_direct)
            if piece:
                yield piece
        rest = await asyncio.to_thread(encoder.finish)
        if rest:
            yield rest
    finally:
        await sounding.aclose()


async def _run(encoder: StreamEncoder, chunk: Pcm, is_direct: bool) -> bytes:
    """Encode one chunk, in a thread where it is work."""
    if is_direct:
        return encoder.feed(chunk)
    return await asyncio.to_thread(encoder.feed, chunk)


def _with_receipt(
    request: SpeechRequest,
    speech: Speech,
    headers: dict[str, str],
    audio: bytes,
    seconds: float,
) -> Answer:
    """Sound and receipt in one JSON object."""
    values = {
        "utterance": speech.utterance,
        "tier": speech.tier,
        "reason": speech.reason,
        "substituted": speech.substituted,
        "format": request.response_format,
        "sample_rate": SAMPLE_RATE,
        "duration_ms": round(seconds * 1000),
        "receipt": speech.receipt.as_dict(),
        "audio": base64.b64encode(audio).decode("ascii"),
    }
    body = json.dumps(values).encode("ascii")
    headers["Content-Length"] = str(len(body))
    return Answer(200, headers, "application/json", body)
