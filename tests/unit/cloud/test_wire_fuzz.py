"""Whatever bytes come, they become a job that an engine bears, or our error."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from cloud.engine.base import Chunk, Job
from cloud.worker import synthesizer_pb2 as pb
from cloud.worker import wire
from common.errors import YaoheError
from common.protocol.synthesis import MAX_SPEED, MIN_SPEED
from common.text import read
from common.text.symbols import SYMBOLS
from tests.workers import job

GOOD = wire.message_of(job("9.9元，[laugh]ABC", seed=7)).SerializeToString()


def received(data: bytes) -> None:
    """Read bytes as the server does; a job that comes of them is sound."""
    got: Job | None = None
    code = "invalid_request"
    try:
        got = wire.job_of(pb.Job.FromString(data))
    except DecodeError:
        return
    except YaoheError as error:
        code = error.code
    assert code == "invalid_request"
    if got is None:
        return
    assert MIN_SPEED <= got.speed <= MAX_SPEED
    assert math.isfinite(got.pitch + got.volume)
    assert all(symbol.id < len(SYMBOLS) and symbol.speed > 0 for symbol in got.symbols)
    assert got.symbols
    wire.message_of(got)


@given(st.binary(max_size=400))
@example(b"")
@example(GOOD)
def test_any_bytes_are_a_job_or_an_error(data: bytes) -> None:
    received(data)


@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)),
        min_size=1,
        max_size=8,
    )
)
def test_a_job_with_bytes_changed_is_a_job_or_an_error(
    changes: list[tuple[int, int]],
) -> None:
    data = bytearray(GOOD)
    for at, value in changes:
        data[at] = value
    received(bytes(data))


@given(st.integers(0, len(GOOD)))
def test_a_job_cut_short_is_a_job_or_an_error(end: int) -> None:
    received(GOOD[:end])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("voice", ""),
        ("voice", "v" * 65),
        ("dialect", ""),
        ("utterance", "u" * 65),
        ("speed", math.nan),
        ("speed", 0.0),
        ("pitch", math.inf),
        ("volume", 1000.0),
        ("patience_s", -1.0),
        ("temperature", math.nan),
        ("top_p", 0.0),
        ("top_k", 0),
        ("repetition_penalty", 100.0),
    ],
)
def test_a_value_out_of_bounds_is_named(name: str, value: object) -> None:
    message = pb.Job.FromString(GOOD)
    setattr(message, name, value)
    with pytest.raises(YaoheError) as refusal:
        wire.job_of(message)
    assert (refusal.value.code, refusal.value.param) == ("invalid_request", name)


def test_spans_cross_and_say_the_words_of_the_job() -> None:
    reading = read('9:30pm，今日<break time="300ms"/>closed', ssml=True)
    sent = dataclasses.replace(job("今日"), reading=reading)
    got = wire.job_of(pb.Job.FromString(wire.message_of(sent).SerializeToString()))
    assert got.reading == reading
    message = pb.Job.FromString(GOOD)
    message.reading.spans[0].spoken += "免费"
    with pytest.raises(YaoheError, match=r"reading\.spans"):
        wire.job_of(message)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_sound_or_an_error(data: bytes) -> None:
    code = ""
    chunk: Chunk = np.zeros(1, np.float32)
    try:
        chunk = wire.chunk_of(pb.Sound(samples=data))
    except YaoheError as error:
        code = error.code
    assert code in ("", "internal_error")
    assert chunk.size
    assert np.isfinite(chunk).all()


@given(st.binary(max_size=200))
@example(b"[" * 200)
@example(b'{"error": {"code": ["x"], "retry_after_s": true}}')
def test_any_error_that_a_worker_sends_becomes_one_of_ours(data: bytes) -> None:
    error = YaoheError.from_body(wire._json(data), status=500)
    assert error.code
