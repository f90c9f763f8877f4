"""A worker behind real gRPC is the engine that it holds: sound, errors, leaving."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

import grpc
import numpy as np
import pytest

from cloud.engine.base import Chunk, Drawing, Engine, Job
from cloud.settings import WorkerSettings
from cloud.worker import wire
from cloud.worker.client import RemoteEngine
from common.errors import YaoheError
from common.speech import Pauses
from tests.unit.cloud.conftest import ToneEngine
from tests.workers import Listening, connected, job, listening

LONG = "欢迎光临，今天天气很好，请保管好随身物品，谢谢您的配合。" * 700


async def heard(engine: Engine, asked: Job) -> Chunk:
    return np.concatenate([chunk async for chunk in engine.synthesize(asked)])


async def refused(engine: Engine, asked: Job) -> YaoheError:
    with pytest.raises(YaoheError) as refusal:
        await heard(engine, asked)
    return refusal.value


async def refused_bytes(address: str, data: bytes) -> grpc.StatusCode:
    """Send any bytes as a job; they are refused with this status."""
    async with grpc.aio.insecure_channel(address) as channel:
        method = f"/{wire.SERVICE}/Synthesize"
        call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
            method
        )
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await anext(aiter(call(data)))
    return refusal.value.code()


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


class Endless(ToneEngine):
    """Speaks until it is closed."""

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        self.begun += 1
        try:
            while True:
                self.made += 1
                yield np.full(2400, 0.1, np.float32)
                await asyncio.sleep(0)
        finally:
            self.ended += 1


async def test_the_sound_is_bit_for_bit_the_engines(engine: ToneEngine) -> None:
    asked = job("新鲜草莓每斤9.9元，买一送一。")
    async with connected(engine) as remote:
        np.testing.assert_array_equal(
            await heard(remote, asked), await heard(engine, asked)
        )


async def test_a_long_chunk_arrives_whole_in_several_messages(
    engine: ToneEngine,
) -> None:
    class Long(ToneEngine):
        async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
            yield np.linspace(-1, 1, 100_001, dtype=np.float32)

    async with connected(Long()) as remote:
        sound = await heard(remote, job())
    np.testing.assert_array_equal(sound, np.linspace(-1, 1, 100_001, dtype=np.float32))


async def test_the_engine_receives_the_job_as_it_was_sent() -> None:
    class Keeps(ToneEngine):
        job: Job

        def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
            self.job = job
            return super().synthesize(job)

    engine = Keeps()
    asked = replace(
        job("9.9元，[laugh]A\ue000", seed=7, speed=1.5),
        deadline=time.monotonic() + 30,
        drawing=Drawing(temperature=0.5, top_k=20),
    )
    async with connected(engine) as remote:
        await heard(remote, asked)
    got = engine.job
    # What could not be read is the service's business.
    assert got.reading == replace(asked.reading, unread=())
    assert got.symbols
    assert got.drawing == asked.drawing
    assert (got.utterance, got.voice, got.dialect) == (asked.utterance, "woman", "zh")
    assert (got.seed, got.speed, got.pitch, got.volume) == (7, 1.5, 0.0, 0.0)
    assert got.deadline == pytest.approx(asked.deadline, abs=5)


async def test_it_is_described_as_the_engine_describes_itself(
    engine: ToneEngine,
) -> None:
    async with connected(engine) as remote:
        assert (remote.name, remote.enforced, remote.slots) == ("tone", True, 1)
        assert remote.repertoire == engine.repertoire
        assert remote.origin("woman", "sc") == engine.origin("woman", "sc")


async def test_an_engines_error_arrives_with_its_code_and_facts(
    engine: ToneEngine,
) -> None:
    engine.failure = YaoheError(
        "unreadable_text", "坏字", param="input", retry_after_s=3, data={"at": 1}
    )
    async with connected(engine) as remote:
        error = await refused(remote, job())
    assert (error.code, error.message, error.param) == (
        "unreadable_text",
        "坏字",
        "input",
    )
    assert (error.retry_after_s, error.data) == (3, {"at": 1})


async def test_an_error_too_large_for_a_status_still_has_its_code(
    engine: ToneEngine,
) -> None:
    engine.failure = YaoheError(
        "unreadable_text", "字" * 100_000, data={"all": "字" * 100_000}
    )
    async with connected(engine) as remote:
        assert (await refused(remote, job())).code == "unreadable_text"


async def test_an_engine_that_breaks_is_an_internal_error_and_goes_on(
    engine: ToneEngine,
) -> None:
    engine.failure = ZeroDivisionError()
    async with connected(engine) as remote:
        assert (await refused(remote, job())).code == "internal_error"
        engine.failure = None
        assert (await heard(remote, job())).size


async def test_an_error_after_the_first_sound_comes_after_that_sound(
    engine: ToneEngine,
) -> None:
    engine.failure, engine.fails_after = YaoheError("voice_unavailable", "broke"), 2
    async with connected(engine) as remote:
        chunks = remote.synthesize(job())
        assert [(await anext(chunks)).size for _ in range(2)] == [2400, 2400]
        with pytest.raises(YaoheError, match="broke"):
            await anext(chunks)


async def test_a_caller_who_leaves_ends_the_job_and_the_next_one_does_not_wait() -> (
    None
):
    engine = Endless(slots=1)
    async with connected(engine, capacity=1) as remote:
        async with aclosing(remote.synthesize(job())) as chunks:
            await anext(chunks)
        # It would wait for ever if the first still held the only slot.
        async with aclosing(remote.synthesize(job())) as chunks:
            assert (await anext(chunks)).size
        assert engine.begun == 2
        await until(lambda: engine.ended == 2)


async def test_a_listener_who_does_not_listen_stops_the_engine() -> None:
    engine = Endless()
    async with (
        connected(engine) as remote,
        aclosing(remote.synthesize(job())) as chunks,
    ):
        await anext(chunks)
        made = -1
        while made != engine.made:
            made = engine.made
            await asyncio.sleep(0.5)
        # 9.6 KB each: what the connection's window holds and no more.
        assert made < 5000


async def test_a_deadline_ends_the_job_on_the_worker(engine: ToneEngine) -> None:
    engine.gate.clear()
    async with connected(engine) as remote:
        error = await refused(remote, job(deadline=time.monotonic() + 0.2))
        assert error.code == "deadline_exceeded"
        assert engine.begun == engine.ended == 1


async def test_a_deadline_ends_the_wait_for_a_slot(engine: ToneEngine) -> None:
    engine.gate.clear()
    async with connected(engine) as remote:
        first = asyncio.create_task(heard(remote, job()))
        await until(lambda: engine.begun == 1)
        error = await refused(remote, job(deadline=time.monotonic() + 0.2))
        assert error.code == "deadline_exceeded"
        engine.gate.set()
        await first
    assert engine.begun == 1


async def test_a_full_worker_refuses_at_once(engine: ToneEngine) -> None:
    engine.gate.clear()
    async with connected(engine, capacity=0) as remote:
        first = asyncio.create_task(heard(remote, job()))
        await until(lambda: engine.begun == 1)
        error = await refused(remote, job())
        assert (error.code, bool(error.retry_after_s)) == ("queue_full", True)
        engine.gate.set()
        await first


@pytest.mark.parametrize(
    ("voice", "dialect"), [("nobody", "zh"), ("man", "sc"), ("woman", "gd")]
)
async def test_a_voice_that_is_not_there_is_refused(
    engine: ToneEngine, voice: str, dialect: str
) -> None:
    async with connected(engine) as remote:
        error = await refused(remote, job(voice=voice, dialect=dialect))
    assert error.code == "unknown_voice"
    assert engine.begun == 0


async def test_clause_ends_cross_where_the_engine_knows_them() -> None:
    class Knows(ToneEngine):
        async def clause_ends(self, job: Job) -> Pauses:
            return ((3, 2400), (5, 4800))

    async with connected(Knows()) as remote:
        assert await remote.clause_ends(job()) == ((3, 2400), (5, 4800))
    async with connected(ToneEngine()) as remote:
        assert await remote.clause_ends(job()) == ()


@pytest.mark.parametrize("data", [b"\xff" * 100, b"", b"\x0a" + b"\xff" * 9])
async def test_bytes_that_are_no_job_are_refused_and_the_worker_lives(
    engine: ToneEngine, data: bytes
) -> None:
    async with listening(engine) as worker:
        await refused_bytes(worker.address, data)
    async with connected(engine) as remote:
        assert (await heard(remote, job())).size


async def test_a_message_beyond_the_limit_is_refused(engine: ToneEngine) -> None:
    async with listening(engine) as worker:
        status = await refused_bytes(worker.address, bytes(wire.MAX_JOB_BYTES + 1))
    assert status is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_the_longest_text_fits_a_message(engine: ToneEngine) -> None:
    asked = job(LONG[:20_000])
    assert wire.message_of(asked).ByteSize() < wire.MAX_JOB_BYTES // 3
    async with connected(engine) as remote:
        sound = await heard(remote, asked)
    assert sound.size == 2400 * len(asked.reading.surface)


@pytest.mark.parametrize("before", [0, 2])
async def test_a_worker_that_falls_silent_is_lost(before: int) -> None:
    class Stuck(ToneEngine):
        async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
            for _ in range(before):
                yield np.full(2400, 0.1, np.float32)
            self.gate.clear()
            await self.gate.wait()

    async with listening(Stuck()) as worker:
        remote = RemoteEngine(worker.address, WorkerSettings(look_s=60, silence_s=0.3))
        await remote.start()
        with pytest.raises(wire.WorkerLost, match="silent"):
            await heard(remote, job())
        assert (remote.is_ready, remote.jobs) == (False, 0)
        await remote.stop()


async def test_a_worker_that_went_away_is_lost_and_found_again(
    engine: ToneEngine,
) -> None:
    first = Listening(engine)
    await first.start()
    remote = RemoteEngine(first.address, WorkerSettings(look_s=0.05))
    await remote.start()
    await first.vanish()
    assert isinstance(await refused(remote, job()), wire.WorkerLost)
    assert not remote.is_ready
    assert remote.repertoire == engine.repertoire
    second = Listening(engine)
    await second.start(int(first.address.rsplit(":", 1)[1]))
    await until(lambda: remote.is_ready)
    assert (await heard(remote, job())).size
    await remote.stop()
    await second.vanish()
