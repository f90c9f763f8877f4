"""Several workers as one: who is chosen, who is replaced, and when nobody is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import numpy as np
import pytest

from cloud.dispatch import Dispatch
from cloud.engine.base import Chunk, Engine, Job, Origin
from cloud.metrics import Metrics
from cloud.settings import CloudSettings, QueueSettings, WorkerSettings
from cloud.worker.pool import MAX_LOST, WorkerPool
from cloud.worker.wire import WorkerLost
from common.errors import YaoheError
from common.protocol.synthesis import parse_speech
from common.receipts import ReceiptBook
from tests.unit.cloud.conftest import ToneEngine
from tests.workers import Listening, job, listening


@asynccontextmanager
async def pooled(
    *engines: ToneEngine, capacity: int = 8
) -> AsyncIterator[tuple[WorkerPool, list[Listening]]]:
    """A pool of workers that are all there, and the workers."""
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(listening(engine, capacity))
            for engine in engines
        ]
        addresses = tuple(worker.address for worker in workers)
        pool = WorkerPool(WorkerSettings(addresses=addresses, look_s=0.05))
        stack.push_async_callback(pool.stop)
        await pool.start()
        await until(lambda: pool.ready_workers == len(workers))
        yield pool, workers


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


async def heard(engine: Engine, asked: Job) -> Chunk:
    return np.concatenate([chunk async for chunk in engine.synthesize(asked)])


async def drained(chunks: AsyncIterator[Chunk]) -> None:
    async for _ in chunks:
        pass


class Sichuan(ToneEngine):
    """Other voices, by other weights."""

    def __init__(self) -> None:
        super().__init__()
        self.repertoire = {"woman": ("zh", "sc"), "aunt": ("sc",)}

    def origin(self, voice: str, dialect: str) -> Origin:
        return Origin("tone", "sichuan@1", "1" * 64, verified=True)


class Plain(ToneEngine):
    def __init__(self) -> None:
        super().__init__()
        self.repertoire = {"woman": ("zh",)}


async def test_a_job_goes_where_its_voice_and_dialect_are() -> None:
    plain, sichuan = Plain(), Sichuan()
    async with pooled(plain, sichuan) as (pool, _):
        assert pool.repertoire == {"woman": ("zh", "sc"), "aunt": ("sc",)}
        assert pool.origin("woman", "zh").pack == "tone@1"
        assert pool.origin("woman", "sc").pack == "sichuan@1"
        await heard(pool, job(dialect="zh"))
        assert (plain.begun, sichuan.begun) == (1, 0)
        await heard(pool, job(voice="woman", dialect="sc"))
        await heard(pool, job(voice="aunt", dialect="sc"))
        assert (plain.begun, sichuan.begun) == (1, 2)


async def test_jobs_are_spread_over_workers_by_their_load() -> None:
    engines = [ToneEngine(slots=2), ToneEngine(slots=4)]
    for engine in engines:
        engine.gate.clear()
    async with pooled(*engines) as (pool, _):
        assert pool.slots == 6
        tasks = [asyncio.create_task(heard(pool, job())) for _ in range(6)]
        await until(lambda: sum(engine.begun for engine in engines) == 6)
        assert [engine.begun for engine in engines] == [2, 4]
        for engine in engines:
            engine.gate.set()
        await asyncio.gather(*tasks)


async def test_a_worker_lost_before_any_sound_is_replaced_unseen() -> None:
    first, second = ToneEngine(), ToneEngine()
    first.gate.clear()
    async with pooled(first, second) as (pool, workers):
        speaking = asyncio.create_task(heard(pool, job()))
        await until(lambda: first.begun == 1)
        await workers[0].vanish()
        sound = await speaking
        assert (second.begun, pool.replaced, pool.ready_workers) == (1, 1, 1)
        np.testing.assert_array_equal(sound, await heard(second, job()))


async def test_a_worker_lost_after_the_first_sound_is_reported_and_not_replaced() -> (
    None
):
    first, second = ToneEngine(), ToneEngine()
    async with pooled(first, second) as (pool, workers):
        async with aclosing(pool.synthesize(job("一二三四五六七八九"))) as chunks:
            await anext(chunks)
            first.gate.clear()
            await workers[0].vanish()
            with pytest.raises(WorkerLost):
                await drained(chunks)
        assert (second.begun, pool.replaced) == (0, 0)


async def test_a_job_that_kills_its_workers_does_not_kill_them_all() -> None:
    engines = [ToneEngine() for _ in range(4)]
    for engine in engines:
        engine.gate.clear()
    async with pooled(*engines) as (pool, workers):
        speaking = asyncio.create_task(heard(pool, job()))
        for _ in range(MAX_LOST):
            await until(lambda: any(engine.begun > engine.ended for engine in engines))
            (at,) = (n for n, one in enumerate(engines) if one.begun > one.ended)
            await workers[at].vanish()
        with pytest.raises(WorkerLost):
            await speaking
        assert sum(engine.begun for engine in engines) == MAX_LOST


async def test_a_worker_is_never_replaced_by_other_weights() -> None:
    tone, sichuan = ToneEngine(), Sichuan()
    tone.gate.clear()
    async with pooled(tone, sichuan) as (pool, workers):
        speaking = asyncio.create_task(heard(pool, job()))
        await until(lambda: tone.begun == 1)
        await workers[0].vanish()
        with pytest.raises(WorkerLost):
            await speaking
        assert sichuan.begun == 0
        # The next caller is told about the other weights from the beginning.
        assert pool.origin("woman", "zh").pack == "sichuan@1"
        assert (await heard(pool, job())).size


async def test_a_full_worker_is_passed_over() -> None:
    full, free = ToneEngine(), ToneEngine()
    full.gate.clear()
    async with pooled(full, free, capacity=0) as (pool, workers):
        # Another service fills the first one, and this one has not looked yet.
        await until(lambda: pool.ready_workers == 2)
        elsewhere = WorkerPool(
            WorkerSettings(addresses=(workers[0].address,), look_s=60)
        )
        await elsewhere.start()
        busy = asyncio.create_task(heard(elsewhere, job()))
        await until(lambda: full.begun == 1)
        assert (await heard(pool, job())).size
        assert (full.begun, free.begun, pool.replaced) == (1, 1, 0)
        full.gate.set()
        await busy
        await elsewhere.stop()


async def test_the_error_of_a_job_is_not_tried_elsewhere() -> None:
    first, second = ToneEngine(), ToneEngine()
    first.failure = second.failure = YaoheError("unreadable_text", "no")
    async with pooled(first, second) as (pool, _):
        with pytest.raises(YaoheError, match="no"):
            await heard(pool, job())
        assert first.begun + second.begun == 1


async def test_where_every_worker_is_full_the_caller_is_told_when_to_try_again() -> (
    None
):
    engine = ToneEngine()
    engine.gate.clear()
    async with pooled(engine, capacity=0) as (pool, _):
        busy = asyncio.create_task(heard(pool, job()))
        await until(lambda: engine.begun == 1)
        with pytest.raises(YaoheError) as refusal:
            await heard(pool, job())
        assert (refusal.value.code, bool(refusal.value.retry_after_s)) == (
            "queue_full",
            True,
        )
        engine.gate.set()
        await busy


async def test_a_request_that_waits_begins_when_a_worker_comes_back() -> None:
    engine = ToneEngine()
    metrics = Metrics()
    async with pooled(engine) as (pool, workers):
        settings = CloudSettings(queue=QueueSettings(first_audio_ms=60_000))
        dispatch = Dispatch(pool, settings, metrics, ReceiptBook())
        engine.gate.clear()
        first = asyncio.create_task(
            dispatch.speak(parse_speech({"input": "一号"}), "1")
        )
        await until(lambda: engine.begun == 1)
        waiting = asyncio.create_task(
            dispatch.speak(parse_speech({"input": "二号"}), "2")
        )
        await until(lambda: b"tts_queue_length 1.0" in metrics.exposition())
        await workers[0].vanish()
        with pytest.raises(YaoheError):
            await first
        engine.gate.set()
        again = Listening(engine)
        await again.start(int(workers[0].address.rsplit(":", 1)[1]))
        speech = await waiting
        assert speech.chunks is not None
        assert [chunk async for chunk in speech.chunks]
        await again.vanish()
    assert b"yaohe_cloud_replaced_total 0.0" in metrics.exposition()


async def test_no_voice_becomes_unknown_because_its_worker_is_away() -> None:
    tone, sichuan = Plain(), Sichuan()
    async with pooled(tone, sichuan) as (pool, workers):
        await workers[1].vanish()
        await until(lambda: pool.ready_workers == 1)
        assert pool.repertoire["aunt"] == ("sc",)
        with pytest.raises(YaoheError) as refusal:
            await heard(pool, job(voice="aunt", dialect="sc"))
        assert (refusal.value.code, bool(refusal.value.retry_after_s)) == (
            "voice_unavailable",
            True,
        )


async def test_a_receipt_promises_no_more_than_every_worker_keeps() -> None:
    class Reads(Sichuan):
        enforced = False

    async with pooled(ToneEngine(), Reads()) as (pool, _):
        assert not pool.enforced
    async with pooled(ToneEngine(), Sichuan()) as (pool, _):
        assert pool.enforced
