"""A sound as server-sent events, named and shaped as OpenAI's speech API documents.

``speech.audio.delta`` carries bytes of the container in base64; put together they are
the file. ``speech.audio.done`` carries the usage, and the receipt if it was asked for.
A sound that breaks off ends with an ``error`` event instead.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError

if TYPE_CHECKING:
    from common.audio.sounding import Sounding
    from common.speech import Speech

MEDIA_TYPE = "text/event-stream"

EVENT_BYTES = 24_000
"""Bytes of a finished sound in one event, a multiple of three."""

FRAMES_PER_S = 50
"""Unit of ``output_tokens``: frames of 20 ms. ``input_tokens`` are characters."""

logger = logging.getLogger(__name__)


async def whole_events(
    speech: Speech, audio: bytes, seconds: float, *, has_receipt: bool
) -> AsyncGenerator[bytes, None]:
    """The events of a finished sound.

    Args:
        speech: What was said.
        audio: The sound in its container.
        seconds: Its length.
        has_receipt: Whether the last event carries the receipt.

    Yields:
        One event at a time.
    """
    for at in range(0, len(audio), EVENT_BYTES):
        yield _delta(audio[at : at + EVENT_BYTES])
    yield _done(speech, seconds, has_receipt)


async def live_events(
    speech: Speech,
    sounding: Sounding,
    pieces: AsyncGenerator[bytes, None],
    *,
    has_receipt: bool,
) -> AsyncGenerator[bytes, None]:
    """The events of a sound that is still being made.

    Args:
        speech: What is being said.
        sounding: The sound, for its length.
        pieces: Its bytes as they are ready; closed at the end.
        has_receipt: Whether the last event carries the receipt.

    Yields:
        One event at a time.
    """
    try:
        async for piece in pieces:
            yield _delta(piece)
        yield _done(speech, sounding.samples / SAMPLE_RATE, has_receipt)
    except YaoheError as error:
        yield _event("error", error.as_body())
    except Exception:
        logger.exception("utterance %s broke off", speech.utterance)
        failure = YaoheError("internal_error", "The speech broke off.")
        yield _event("error", failure.as_body())
    finally:
        await pieces.aclose()


def _delta(audio: bytes) -> bytes:
    kind = "speech.audio.delta"
    encoded = base64.b64encode(audio).decode("ascii")
    return _event(kind, {"type": kind, "audio": encoded})


def _done(speech: Speech, seconds: float, has_receipt: bool) -> bytes:
    kind = "speech.audio.done"
    said = len(speech.receipt.reading.text)
    heard = round(seconds * FRAMES_PER_S)
    usage = {
        "input_tokens": said,
        "output_tokens": heard,
        "total_tokens": said + heard,
    }
    values: dict[str, Any] = {"type": kind, "usage": usage}
    if has_receipt:
        values["receipt"] = speech.receipt.as_dict()
    return _event(kind, values)


def _event(name: str, values: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(values)}\n\n".encode("ascii")
