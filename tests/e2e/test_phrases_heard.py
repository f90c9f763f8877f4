"""The real recogniser hears a phrase before boxes get it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cloud.fleet.ear import Ear
from cloud.fleet.hearing import objection
from cloud.metrics import Metrics
from cloud.settings import CloudSettings
from cloud.spare import Spare
from common.audio.pcm import SAMPLE_RATE
from common.protocol.synthesis import parse_speech
from common.receipts import ReceiptBook
from common.speech import new_utterance
from common.text import read
from distill.settings import DistillSettings

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
OTHERS = (TEXT.replace("9.9", "8.9"), TEXT.replace("9.9", "29.9"), "请第3桌取餐。")


@pytest.mark.slow
async def test_its_own_price_passes_and_another_does_not(tmp_path: Path) -> None:
    told = DistillSettings()
    spare = Spare(CloudSettings(data=tmp_path), Metrics(), ReceiptBook())
    speech = await spare.speak(parse_speech({"input": TEXT}), new_utterance())
    assert speech.chunks is not None
    pcm = np.concatenate([chunk async for chunk in speech.chunks])
    await spare.stop()
    ear = Ear.of(told.judge, told.data / "judge")
    try:
        heard = await ear.hear(pcm)
    finally:
        await ear.stop()
    seconds = pcm.size / SAMPLE_RATE
    assert objection(read(TEXT), heard, seconds) == ""
    for other in OTHERS:
        assert objection(read(other), heard, seconds) != ""
