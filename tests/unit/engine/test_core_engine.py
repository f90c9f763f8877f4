"""The engine keeps its promises to listeners: same sound, no waiting for others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from torch import Tensor  # noqa: E402

from cloud.engine.base import Chunk, Job, KnowsLoad, SharesSlots  # noqa: E402
from cloud.engine.chattts.clauses import pieces  # noqa: E402
from cloud.engine.chattts.engine import ChatTtsEngine, Options  # noqa: E402
from cloud.engine.chattts.sampler import Draws, Sampling, sample  # noqa: E402
from common.errors import YaoheError  # noqa: E402
from common.text import read  # noqa: E402
from tests.tools.make_random_assets import build  # noqa: E402

pytestmark = pytest.mark.slow

TEXT = "一丁上下，三万与不。"
OPTIONS = Options(
    threads=1, cache_mib=16, warm_up=0, sampling=Sampling(min_steps=40, max_steps=60)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("assets"), "tiny")


@asynccontextmanager
async def started(engine: ChatTtsEngine) -> AsyncIterator[ChatTtsEngine]:
    """An engine between its start and its stop."""
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


@asynccontextmanager
async def speaking(folder: Path, **changes: Any) -> AsyncIterator[ChatTtsEngine]:
    async with started(ChatTtsEngine(folder, replace(OPTIONS, **changes))) as engine:
        yield engine


def a_job(
    engine: ChatTtsEngine, text: str = TEXT, seed: int | None = 1, **more: Any
) -> Job:
    return Job(
        "u", read(text, "zh"), next(iter(engine.repertoire)), "zh", seed=seed, **more
    )


async def heard(engine: ChatTtsEngine, job: Job) -> Chunk:
    chunks = [chunk async for chunk in engine.synthesize(job)]
    assert all(chunk.size and chunk.dtype == np.float32 for chunk in chunks)
    return np.concatenate(chunks)


async def refused(engine: ChatTtsEngine, job: Job) -> YaoheError:
    with pytest.raises(YaoheError) as caught:
        await heard(engine, job)
    return caught.value


def is_ready(engine: ChatTtsEngine) -> bool:
    """Asked anew each time: it changes meanwhile."""
    return engine.is_ready


async def idle(engine: ChatTtsEngine) -> None:
    while engine.load().running or engine.load().waiting:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_an_engine_is_ready_between_start_and_stop(folder: Path) -> None:
    engine = ChatTtsEngine(folder, replace(OPTIONS, warm_up=3))
    assert isinstance(engine, KnowsLoad)
    assert isinstance(engine, SharesSlots)
    assert not engine.enforced
    assert not is_ready(engine)
    await engine.start()
    assert is_ready(engine)
    assert engine.load().steps >= 24
    voice = next(iter(engine.repertoire))
    job = a_job(engine)
    origin = engine.origin(voice, "zh")
    assert origin.pack == f"chattts@{origin.sha256[:12]}"
    assert not origin.verified
    await engine.stop()
    assert not is_ready(engine)
    assert (await refused(engine, job)).code == "not_ready"


async def test_a_job_sounds_the_same_alone_and_in_company(folder: Path) -> None:
    async with speaking(folder, slots=3) as engine:
        alone = [await heard(engine, a_job(engine, seed=n)) for n in range(6)]
        many = await asyncio.gather(
            *(heard(engine, a_job(engine, seed=n)) for n in range(6))
        )
    for one, other in zip(alone, many, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(alone[0], alone[1])


async def test_without_a_seed_the_same_words_sound_the_same(folder: Path) -> None:
    async with speaking(folder) as engine:
        one, two = [await heard(engine, a_job(engine, seed=None)) for _ in range(2)]
        other = await heard(engine, a_job(engine, "上下。", seed=None))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one[:4000], other[:4000])


async def test_the_first_sound_leaves_after_twelve_steps(folder: Path) -> None:
    async with speaking(folder) as engine:
        before = engine.load().steps
        async with aclosing(engine.synthesize(a_job(engine))) as chunks:
            first = await anext(chunks)
            taken = engine.load().steps - before
        assert first.size
        # The thread may have gone on a little before it was asked.
        assert taken >= 12
        assert first.size <= 12 * 512


async def test_who_leaves_frees_the_slot_and_others_do_not_notice(folder: Path) -> None:
    async with speaking(
        folder, sampling=Sampling(min_steps=150, max_steps=150)
    ) as engine:
        alone = await heard(engine, a_job(engine, seed=2))
        stays = asyncio.create_task(heard(engine, a_job(engine, seed=2)))
        for seed in range(5):
            async with aclosing(engine.synthesize(a_job(engine, seed=seed))) as chunks:
                await anext(chunks)
        cancelled = asyncio.create_task(heard(engine, a_job(engine, seed=9)))
        await asyncio.sleep(0.05)
        cancelled.cancel()
        np.testing.assert_array_equal(await stays, alone)
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await idle(engine)


async def test_a_slow_listener_stops_nobody_else(folder: Path) -> None:
    sampling = Sampling(min_steps=200, max_steps=200)
    async with speaking(folder, ahead_s=0.5, sampling=sampling) as engine:
        alone = await heard(engine, a_job(engine, seed=1))
        async with aclosing(engine.synthesize(a_job(engine, seed=1))) as slow:
            kept = [await anext(slow)]
            await heard(engine, a_job(engine, seed=3))
            steps = engine.load().steps
            await asyncio.sleep(0.2)
            # Nobody listens, so nobody works; the slot is held.
            assert engine.load().steps == steps
            assert engine.load().running == 1
            kept += [chunk async for chunk in slow]
        np.testing.assert_array_equal(np.concatenate(kept), alone)


async def test_a_long_text_is_one_stream_of_all_its_pieces(folder: Path) -> None:
    text = "一丁上下三万与不，" * 60 + "七中。"
    steps = 10
    sampling = Sampling(min_steps=steps, max_steps=steps)
    async with speaking(folder, sampling=sampling) as engine:
        task = asyncio.create_task(heard(engine, a_job(engine, text)))
        while not task.done():
            assert engine.load().running + engine.load().waiting <= 1
            await asyncio.sleep(0.01)
        sound = await task
    # 512 positions leave room for pieces of 16 characters.
    count = len(pieces(read(text, "zh").spoken, 16))
    assert count >= 60
    assert sound.size == count * (2 * steps - 1) * 256


async def test_a_character_without_a_token_is_never_left_out(folder: Path) -> None:
    async with speaking(folder) as engine:
        error = await refused(engine, a_job(engine, "一丁龘。"))
        assert error.code == "unreadable_text"
        assert "龘" in error.message
        assert (await refused(engine, a_job(engine, ""))).code == "nothing_to_say"


async def test_volume_is_a_gain_and_pitch_is_refused(folder: Path) -> None:
    async with speaking(folder) as engine:
        plain = await heard(engine, a_job(engine))
        quiet = await heard(engine, a_job(engine, volume=-20.0))
        np.testing.assert_allclose(quiet, plain / 10, atol=1e-7)
        error = await refused(engine, a_job(engine, pitch=2.0))
    assert (error.code, error.param) == ("invalid_request", "pitch")


async def test_a_refinement_that_changes_words_is_not_spoken(folder: Path) -> None:
    async with speaking(folder) as engine:
        plain = await heard(engine, a_job(engine))
    # Random weights write anything but the text, so the text stands as it was.
    async with speaking(folder, is_refined=True) as engine:
        before = engine.load().steps
        refined = await heard(engine, a_job(engine))
        assert engine.load().steps - before > 60
    np.testing.assert_array_equal(refined, plain)


async def test_other_assets_than_those_asked_for_are_refused(folder: Path) -> None:
    with pytest.raises(YaoheError) as caught:
        await ChatTtsEngine(folder, replace(OPTIONS, sha256="0" * 64)).start()
    assert caught.value.code == "pack_invalid"
    async with speaking(folder) as engine:
        digest = engine.origin("", "").sha256
    async with speaking(folder, sha256=digest) as engine:
        assert engine.origin("", "").verified


async def test_a_step_that_fails_ends_its_jobs_and_no_later_one(folder: Path) -> None:
    failing = threading.Event()

    def choose(logits: Tensor, rows: Sequence[Draws]) -> list[list[int]]:
        if failing.is_set():
            raise RuntimeError("out of memory")
        return sample(logits, rows)

    async with started(ChatTtsEngine(folder, OPTIONS, choose=choose)) as engine:
        alone = await heard(engine, a_job(engine))
        failing.set()
        errors = await asyncio.gather(
            *(refused(engine, a_job(engine, seed=n)) for n in range(3))
        )
        assert {error.code for error in errors} == {"internal_error"}
        failing.clear()
        np.testing.assert_array_equal(await heard(engine, a_job(engine)), alone)
        await idle(engine)


async def test_a_step_that_hangs_is_noticed_and_got_over(folder: Path) -> None:
    hanging, released = threading.Event(), threading.Event()

    def choose(logits: Tensor, rows: Sequence[Draws]) -> list[list[int]]:
        if hanging.is_set():
            released.wait()
        return sample(logits, rows)

    options = replace(OPTIONS, patience_s=2.0)
    async with started(ChatTtsEngine(folder, options, choose=choose)) as engine:
        alone = await heard(engine, a_job(engine))
        hanging.set()
        assert (await refused(engine, a_job(engine))).code == "voice_unavailable"
        assert not is_ready(engine)
        assert (await refused(engine, a_job(engine))).code == "voice_unavailable"
        hanging.clear()
        released.set()
        while not is_ready(engine):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        np.testing.assert_array_equal(await heard(engine, a_job(engine)), alone)


async def test_pieces_are_as_long_as_the_memory_allows(folder: Path) -> None:
    text = "一丁上下三万与不" * 9
    # 512 positions: a piece of 60 characters and its sound would not fit.
    async with (
        speaking(folder, sampling=Sampling()) as engine,
        aclosing(engine.synthesize(a_job(engine, text))) as chunks,
    ):
        assert (await anext(chunks)).size
    with pytest.raises(YaoheError) as caught:
        await ChatTtsEngine(folder, replace(OPTIONS, cache_mib=0)).start()
    assert caught.value.code == "invalid_request"
