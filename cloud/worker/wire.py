"""Jobs, sounds and errors as messages, both ways.

What comes from a network is checked here and nowhere else: a message that holds no job
is ``invalid_request``, whatever its bytes. Samples cross as they are, so that a remote
engine's sound is bit for bit that of one in this process.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

import grpc
import numpy as np

from cloud.engine.base import Chunk, Drawing, Job, Origin
from cloud.worker import synthesizer_pb2 as pb
from common.errors import Code, YaoheError, quoted
from common.protocol.synthesis import (
    DRAWING_BOUNDS,
    MAX_NAME_CHARACTERS,
    MAX_PITCH_SEMITONES,
    MAX_SPEED,
    MAX_VOLUME_DB,
    MIN_SPEED,
    MIN_VOLUME_DB,
)
from common.speech import Pauses
from common.text.pieces import MAX_BREAK_MS
from common.text.receipt import Language, Reading, Span, Unit
from common.text.symbols import DIALECTS, SYMBOLS, Symbol

MAX_JOB_BYTES = 16 << 20
"""Longest message that a worker reads; the longest text takes a tenth of it."""
MAX_SOUND_SAMPLES = 24_000
"""Samples in one message at most: a second."""
MAX_ANSWER_BYTES = 1 << 20
"""Longest message of a worker."""
MAX_SYMBOL_VALUE = 100_000
"""Largest speed, pitch or volume of one symbol, in its own unit."""
MAX_PATIENCE_S = 3600.0
MAX_ERROR_BYTES = 4096
"""Longest error; what is more would not fit beside a status."""

SERVICE = pb.DESCRIPTOR.services_by_name["Synthesizer"].full_name
"""Its name in the health service."""
ERROR_KEY = "yaohe-error-bin"

Metadata = Sequence[tuple[str, "str | bytes"]]

_STATUS: dict[Code, grpc.StatusCode] = {
    "invalid_request": grpc.StatusCode.INVALID_ARGUMENT,
    "input_too_long": grpc.StatusCode.INVALID_ARGUMENT,
    "unknown_voice": grpc.StatusCode.NOT_FOUND,
    "unknown_dialect": grpc.StatusCode.NOT_FOUND,
    "voice_unavailable": grpc.StatusCode.UNAVAILABLE,
    "not_ready": grpc.StatusCode.UNAVAILABLE,
    "queue_full": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "deadline_exceeded": grpc.StatusCode.DEADLINE_EXCEEDED,
}
_LANGUAGES = ("zh", "gd", "sc", "en")


class WorkerLost(YaoheError):
    """A worker that went away in the middle of a call, or was not there."""


def message_of(job: Job) -> pb.Job:
    """A job as it is sent.

    Args:
        job: The job; its deadline goes as the seconds that are left.

    Returns:
        The message. What could not be read is not in it.
    """
    reading = job.reading
    left = None if job.deadline is None else max(job.deadline - time.monotonic(), 0.0)
    return pb.Job(
        utterance=job.utterance,
        reading=pb.Reading(
            text=reading.text,
            dialect=reading.dialect,
            spoken=reading.spoken,
            syllables=reading.syllables,
            surface=reading.surface,
            units=[pb.Unit(**vars(unit)) for unit in reading.units],
            symbols=[pb.Symbol(**symbol._asdict()) for symbol in reading.symbols],
            spans=[pb.Span(**vars(span)) for span in reading.spans],
        ),
        voice=job.voice,
        dialect=job.dialect,
        speed=job.speed,
        pitch=job.pitch,
        volume=job.volume,
        seed=job.seed,
        patience_s=left,
        **vars(job.drawing),
    )


def job_of(message: pb.Job) -> Job:
    """The job in a message.

    Args:
        message: What a client sent.

    Returns:
        The job, its deadline on this machine's clock. The reading's unread characters
        stayed with the client.

    Raises:
        YaoheError: ``invalid_request`` naming the field.
    """
    for name in ("utterance", "voice", "dialect"):
        if not 0 < len(getattr(message, name)) <= MAX_NAME_CHARACTERS:
            raise _invalid(name)
    _require("speed", message.speed, MIN_SPEED, MAX_SPEED)
    _require("pitch", message.pitch, -MAX_PITCH_SEMITONES, MAX_PITCH_SEMITONES)
    _require("volume", message.volume, MIN_VOLUME_DB, MAX_VOLUME_DB)
    deadline = None
    if message.HasField("patience_s"):
        _require("patience_s", message.patience_s, 0.0, MAX_PATIENCE_S)
        deadline = time.monotonic() + message.patience_s
    return Job(
        message.utterance,
        _reading(message.reading),
        voice=message.voice,
        dialect=message.dialect,
        speed=message.speed,
        pitch=message.pitch,
        volume=message.volume,
        seed=message.seed if message.HasField("seed") else None,
        deadline=deadline,
        drawing=_drawing(message),
    )


def _drawing(message: pb.Job) -> Drawing:
    """How codes are drawn; what is absent is the engine's choice."""
    given = {
        name: getattr(message, name)
        for name in DRAWING_BOUNDS
        if message.HasField(name)
    }
    for name, value in given.items():
        _require(name, value, *DRAWING_BOUNDS[name])
    return Drawing(**given)


def _reading(message: pb.Reading) -> Reading:
    """What came of a reading."""
    if message.dialect not in DIALECTS:
        raise _invalid("reading.dialect")
    if not message.symbols:
        raise _invalid("reading.symbols")
    # Without spans a reading is as good; with some, they must say the same words.
    words = "".join(span.spoken for span in message.spans)
    if words and words.replace(" ", "") != message.spoken.replace(" ", ""):
        raise _invalid("reading.spans")
    return Reading(
        text=message.text,
        dialect=message.dialect,
        spoken=message.spoken,
        syllables=tuple(message.syllables),
        surface=tuple(message.surface),
        spans=tuple(map(_span, message.spans)),
        unread=(),
        units=tuple(map(_unit, message.units)),
        symbols=tuple(map(_symbol, message.symbols)),
    )


def _span(message: pb.Span) -> Span:
    """A stretch of the text."""
    return Span(
        message.start,
        message.end,
        message.text,
        message.spoken,
        message.rule,
        message.first,
        message.count,
    )


def _unit(message: pb.Unit) -> Unit:
    """A syllable or a pause."""
    if message.language not in _LANGUAGES or not _is_shaped(message):
        raise _invalid("reading.units")
    return Unit(
        message.value,
        cast(Language, message.language),
        is_pause=message.is_pause,
        starts_word=message.starts_word,
        ms=message.ms,
        speed=message.speed,
        pitch=message.pitch,
        volume=message.volume,
    )


def _symbol(message: pb.Symbol) -> Symbol:
    """A symbol of the table."""
    numbers = (message.start, message.middle, message.end, message.stress)
    if (
        message.id >= len(SYMBOLS)
        or max(numbers) > MAX_SYMBOL_VALUE
        or not _is_shaped(message)
    ):
        raise _invalid("reading.symbols")
    return Symbol(
        message.id,
        *numbers,
        ms=message.ms,
        speed=message.speed,
        pitch=message.pitch,
        volume=message.volume,
    )


def _is_shaped(message: pb.Unit | pb.Symbol) -> bool:
    """Whether length, speed, pitch and volume are numbers that an engine bears."""
    return (
        message.ms <= MAX_BREAK_MS
        and 0 < message.speed <= MAX_SYMBOL_VALUE
        and abs(message.pitch) <= MAX_SYMBOL_VALUE
        and abs(message.volume) <= MAX_SYMBOL_VALUE
    )


def _require(name: str, value: float, least: float, most: float) -> None:
    """Refuse a number that is none or out of bounds."""
    if not (math.isfinite(value) and least <= value <= most):
        raise _invalid(name)


def _invalid(name: str) -> YaoheError:
    return YaoheError("invalid_request", f"the job's {name} is not valid", param=name)


def sounds_of(chunk: Chunk) -> Iterator[pb.Sound]:
    """A chunk as messages that are not too long.

    Args:
        chunk: Samples, float32.

    Yields:
        Messages, none for an empty chunk.
    """
    for at in range(0, chunk.size, MAX_SOUND_SAMPLES):
        piece = chunk[at : at + MAX_SOUND_SAMPLES]
        yield pb.Sound(samples=np.ascontiguousarray(piece, "<f4").tobytes())


def chunk_of(message: pb.Sound) -> Chunk:
    """The samples in a message.

    Args:
        message: What a worker sent.

    Returns:
        At least one sample, float32.

    Raises:
        YaoheError: ``internal_error`` for bytes that are no sound.
    """
    data = message.samples
    if not data or len(data) % 4 or len(data) > 4 * MAX_SOUND_SAMPLES:
        raise YaoheError("internal_error", f"a worker sent {len(data)} bytes of sound")
    chunk = np.frombuffer(data, "<f4")
    if not np.isfinite(chunk).all():
        raise YaoheError("internal_error", "a worker sent a sound that is none")
    return chunk


def origin_message(origin: Origin) -> pb.Origin:
    """An origin as it is sent."""
    return pb.Origin(
        engine=origin.engine,
        pack=origin.pack,
        sha256=origin.sha256,
        verified=origin.verified,
    )


def origin_of(message: pb.Origin) -> Origin:
    """The origin in a message."""
    return Origin(message.engine, message.pack, message.sha256, message.verified)


def pauses_message(pauses: Pauses) -> pb.Pauses:
    """Ends of clauses as they are sent."""
    return pb.Pauses(pauses=[pb.Pause(symbols=s, samples=n) for s, n in pauses])


def pauses_of(message: pb.Pauses) -> Pauses:
    """The ends of clauses in a message."""
    return tuple((pause.symbols, pause.samples) for pause in message.pauses)


def status_of(error: YaoheError) -> tuple[grpc.StatusCode, str, Metadata]:
    """An error as a status.

    Args:
        error: Ours.

    Returns:
        Code, details and trailing metadata.
    """
    body = error.as_body()
    body["error"]["message"] = error.message[: MAX_ERROR_BYTES // 8]
    data = json.dumps(body).encode("ascii")
    if len(data) > MAX_ERROR_BYTES:
        body["error"].pop("data", None)
        data = json.dumps(body).encode("ascii")
    status = _STATUS.get(error.code, grpc.StatusCode.INTERNAL)
    return status, error.code, ((ERROR_KEY, data),)


def error_of(failure: grpc.aio.AioRpcError, address: str) -> YaoheError:
    """The error behind a status.

    Args:
        failure: What a call raised.
        address: Whom it was made to.

    Returns:
        The worker's own error; else ``WorkerLost`` for a connection that broke,
        ``deadline_exceeded``, or ``internal_error``.
    """
    for key, value in failure.trailing_metadata() or ():
        if key == ERROR_KEY:
            return YaoheError.from_body(_json(value), status=500)
    status = failure.code()
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return YaoheError("deadline_exceeded", f"worker {address} took too long")
    if status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return WorkerLost(
            "voice_unavailable", f"worker {address} is not there", retry_after_s=1
        )
    details = quoted(failure.details() or "")
    return YaoheError("internal_error", f"worker {address}: {status.name}, {details}")


def _json(value: str | bytes) -> Any:
    """What JSON holds; None for what is none."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
