"""Packs behind the engine protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from cloud.engine.base import Job
from cloud.engine.packed import PackedEngine
from common.errors import YaoheError
from common.text import read
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker


@pytest.fixture
async def engine() -> AsyncIterator[PackedEngine]:
    engine = PackedEngine()
    await engine.start()
    yield engine
    await engine.stop()


def job(text: str = "三号窗口") -> Job:
    return Job("u", read(text), "woman", "zh")


async def test_it_speaks_what_the_pack_speaks(engine: PackedEngine) -> None:
    spoken = np.concatenate([chunk async for chunk in engine.synthesize(job())])
    speaker = Speaker(load_pack(starter_directory(), trusted=True))
    alone = speaker.speak(read("三号窗口").symbols, voice="woman")
    np.testing.assert_array_equal(spoken, np.concatenate(list(alone)))


async def test_it_says_what_it_can_and_where_from(engine: PackedEngine) -> None:
    assert engine.is_ready
    assert engine.enforced
    assert "zh" in engine.repertoire["woman"]
    origin = engine.origin("woman", "zh")
    pack = load_pack(starter_directory(), trusted=True)
    assert (origin.pack, origin.sha256) == (pack.label, pack.sha256)
    assert origin.verified


async def test_a_pack_without_signature_speaks_only_where_allowed() -> None:
    folder = [starter_directory()]
    with pytest.raises(YaoheError, match="signature"):
        await PackedEngine(folder).start()
    allowed = PackedEngine(folder, is_unsigned_allowed=True)
    await allowed.start()
    assert not allowed.origin("woman", "zh").verified
    await allowed.stop()


async def test_a_missing_pack_is_named(tmp_path: Path) -> None:
    engine = PackedEngine([tmp_path / "nowhere"], is_unsigned_allowed=True)
    with pytest.raises(YaoheError, match="nowhere"):
        await engine.start()
    await engine.stop()


async def test_a_stopped_engine_takes_no_jobs() -> None:
    engine = PackedEngine()
    with pytest.raises(YaoheError) as refusal:
        engine.synthesize(job())
    assert refusal.value.code == "not_ready"
