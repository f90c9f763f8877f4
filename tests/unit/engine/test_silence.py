"""Breaks that a text asks for are heard in what the engine makes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.base import Job
from cloud.engine.chattts.engine import ChatTtsEngine, Options
from cloud.engine.chattts.sampler import Sampling
from common.text import read
from tests.tools.make_random_assets import build

pytestmark = pytest.mark.slow

SHORT = Sampling(min_steps=10, max_steps=10)
LINE = (2 * 10 - 1) * 256
"""Samples of a line of ten steps."""


async def test_a_break_is_silence_of_its_length_between_two_lines(
    tmp_path: Path,
) -> None:
    build(tmp_path, "tiny")
    (tmp_path / "speakers").mkdir()
    (tmp_path / "speakers" / "anna.txt").write_text("seed 7", "utf-8")
    options = Options(threads=1, cache_mib=16, warm_up=0, sampling=SHORT)
    engine = ChatTtsEngine(tmp_path, options)
    await engine.start()
    try:
        assert engine.repertoire == {"anna": ("zh",)}
        text = '<break time="100ms"/>一丁<break time="500ms"/>上下<break time="250ms"/>'
        job = Job("u", read(text, ssml=True), "anna", "zh", seed=1)
        chunks = [chunk async for chunk in engine.synthesize(job)]
    finally:
        await engine.stop()
    sound = np.concatenate(chunks)
    loud = np.flatnonzero(sound)
    assert sound.size == 2400 + LINE + 12000 + LINE + 6000
    assert loud[0] >= 2400
    assert not sound[2400 + LINE : 2400 + LINE + 12000].any()
    assert loud[-1] < sound.size - 6000
