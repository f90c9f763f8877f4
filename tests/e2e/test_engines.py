"""What every engine of the cloud promises, asked of each of them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud.engine.base import Chunk, Engine, Job
from cloud.engine.fetch import fetch_kokoro
from cloud.engine.kokoro.engine import KokoroEngine
from cloud.engine.packed import PackedEngine
from cloud.engine.reference.engine import ReferenceEngine
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.text import read
from tests.tools.chattts_cases import PYTHON

TEXT = "一丁上下，三万与不。"
"""Characters that also a model of a few megabytes has."""
ENFORCED = {"packed": True, "kokoro": True, "chattts": False, "reference": False}
STEPS = 24


def tiny_assets(folder: Path) -> Path:
    pytest.importorskip("safetensors", reason="it comes with the extra engine")
    from tests.tools.make_random_assets import build

    return build(folder, "tiny")


def an_engine(name: str, folder: Path) -> Engine:
    """An engine that is not started."""
    if name == "packed":
        return PackedEngine(threads=1)
    if name == "kokoro":
        files = Path(os.environ.get("KOKORO_DIRECTORY") or folder)
        if files == folder and not any(folder.iterdir()):
            fetch_kokoro(folder, "index", print)
        return KokoroEngine(files, threads=1)
    if name == "reference":
        return ReferenceEngine(
            tiny_assets(folder), python=PYTHON, threads=1, max_steps=STEPS
        )
    pytest.importorskip("torch", reason="it comes with the extra engine")
    from cloud.engine.chattts.engine import ChatTtsEngine, Options
    from cloud.engine.chattts.sampler import Sampling

    sampling = Sampling(min_steps=STEPS, max_steps=STEPS)
    options = Options(threads=1, cache_mib=16, warm_up=2, sampling=sampling)
    return ChatTtsEngine(tiny_assets(folder), options)


@dataclass
class Case:
    """An engine that runs, and how to make another of its kind."""

    engine: Engine
    folder: Path

    def another(self) -> Engine:
        return an_engine(self.engine.name, self.folder)

    def job(self, text: str = TEXT, **more: Any) -> Job:
        voice, dialects = next(iter(self.engine.repertoire.items()))
        asked = {"seed": 1, **more}
        return Job("u", read(text, "zh"), voice, dialects[0], **asked)

    async def heard(self, text: str = TEXT, **more: Any) -> Chunk:
        job = self.job(text, **more)
        return np.concatenate([chunk async for chunk in self.engine.synthesize(job)])


@pytest.fixture(
    scope="module",
    params=[
        "packed",
        pytest.param("chattts", marks=pytest.mark.slow),
        pytest.param("kokoro", marks=pytest.mark.slow),
        pytest.param("reference", marks=pytest.mark.slow),
    ],
)
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """An engine's name and its files, which all its tests share."""
    return request.param, tmp_path_factory.mktemp(request.param)


@pytest.fixture
async def case(folder: tuple[str, Path]) -> AsyncIterator[Case]:
    engine = an_engine(*folder)
    await engine.start()
    yield Case(engine, folder[1])
    await engine.stop()


async def test_it_says_who_it_is_and_what_it_can(case: Case) -> None:
    engine = case.engine
    assert engine.enforced is ENFORCED[engine.name]
    assert engine.slots >= 1
    assert all("zh" in dialects for dialects in engine.repertoire.values())
    assert engine.repertoire
    for voice, dialects in engine.repertoire.items():
        origin = engine.origin(voice, dialects[0])
        assert origin.engine == engine.name
        assert re.fullmatch(r"[^@\s]+@\S+", origin.pack)
        assert re.fullmatch(r"[0-9a-f]{64}", origin.sha256)


async def test_it_yields_samples_and_never_an_empty_chunk(case: Case) -> None:
    chunks = [chunk async for chunk in case.engine.synthesize(case.job())]
    assert chunks
    for chunk in chunks:
        assert chunk.dtype == np.float32
        assert chunk.ndim == 1
        assert chunk.size
        assert np.isfinite(chunk).all()
        assert np.abs(chunk).max() <= 1
    sound = np.concatenate(chunks)
    assert 0.2 < sound.size / SAMPLE_RATE < 20
    assert np.abs(sound).max() > 0.001


async def test_the_same_job_sounds_the_same_alone_and_in_company(case: Case) -> None:
    alone = await case.heard()
    count = case.engine.slots + 2 if case.engine.slots < 8 else 5
    many = await asyncio.gather(*(case.heard(seed=n) for n in range(1, count + 1)))
    np.testing.assert_array_equal(many[0], alone)
    np.testing.assert_array_equal(await case.heard(), alone)


async def test_more_text_is_more_sound(case: Case) -> None:
    short, long = await case.heard(), await case.heard("一丁上下三万与不丁上。" * 9)
    assert long.size > 1.5 * short.size


async def test_volume_is_a_gain_in_decibels(case: Case) -> None:
    plain, quiet = await case.heard(), await case.heard(volume=-20.0)
    assert quiet.size == plain.size
    share = float(np.sqrt((quiet**2).mean() / (plain**2).mean()))
    assert share == pytest.approx(0.1, rel=0.05)


async def test_who_leaves_early_changes_nothing_for_the_next(case: Case) -> None:
    alone = await case.heard()
    for _ in range(3):
        async with aclosing(case.engine.synthesize(case.job())) as chunks:
            await anext(chunks)
    waiting = [asyncio.create_task(case.heard(seed=n)) for n in range(2, 5)]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    np.testing.assert_array_equal(await case.heard(), alone)
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_it_takes_jobs_only_between_start_and_stop(case: Case) -> None:
    engine = case.another()
    job = case.job()
    assert not is_ready(engine)
    with pytest.raises(YaoheError) as refusal:
        await _first(engine, job)
    assert refusal.value.code == "not_ready"
    await engine.start()
    assert is_ready(engine)
    await engine.stop()
    await engine.stop()
    assert not is_ready(engine)
    with pytest.raises(YaoheError) as refusal:
        await _first(engine, job)
    assert refusal.value.code == "not_ready"


async def test_it_can_be_started_again_and_sounds_as_before(case: Case) -> None:
    before = await case.heard()
    await case.engine.stop()
    await case.engine.start()
    np.testing.assert_array_equal(await case.heard(), before)


async def test_stopping_ends_a_job_that_runs(case: Case) -> None:
    job = replace(case.job("一丁上下三万与不丁上。" * 20), utterance="long")
    chunks = case.engine.synthesize(job)
    assert (await anext(chunks)).size
    await case.engine.stop()
    # Whatever still comes was made before; then it ends, well or with an error of ours.
    with suppress(YaoheError):
        async for chunk in chunks:
            assert chunk.size
    await chunks.aclose()


def is_ready(engine: Engine) -> bool:
    """Asked anew each time: it changes meanwhile."""
    return engine.is_ready


async def _first(engine: Engine, job: Job) -> Chunk:
    async with aclosing(engine.synthesize(job)) as chunks:
        return await anext(chunks)
