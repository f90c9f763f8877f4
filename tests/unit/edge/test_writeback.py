"""What the cloud streamed is said from the cache next time, if it may be."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import numpy as np
import pytest

from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Provenance
from common.protocol.synthesis import SpeechRequest
from common.speech import Speech, new_utterance
from common.text import RULES_VERSION, read
from common.text.receipt import Receipt
from common.text.symbols import TABLE_VERSION
from edge.settings import PolicySettings
from edge.writeback import MAX_S
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.test_policy import Cloud, asked, kept, say
from tests.unit.edge.tiny import TinyVoice

ORIGIN = Provenance(
    "packed",
    pack="man@1.0.0",
    pack_sha256="c" * 64,
    verified=True,
    table_version=TABLE_VERSION,
    rules_version=RULES_VERSION,
)


class Trusted(Cloud):
    """A cloud whose engine speaks our symbols."""

    def __init__(self, *, seconds: float = 0.2, **changes: object) -> None:
        super().__init__()
        self._seconds = seconds
        self._changes = changes

    async def speak(
        self, request: SpeechRequest, utterance: str, deadline_s: float
    ) -> Speech:
        self.asked.append(request)
        changes = dict(self._changes)
        enforced = bool(changes.pop("enforced", True))
        text = str(changes.pop("read_as", request.input))
        notes = [str(changes.pop("note"))] if "note" in changes else []
        stand_in = changes.pop("substituted", None)

        async def chunks() -> AsyncIterator[Pcm]:
            for _ in range(4):
                yield np.full(round(self._seconds * SAMPLE_RATE / 4), 0.1, np.float32)

        return Speech(
            utterance,
            Receipt(utterance, read(text, request.dialect), enforced),
            tier="cloud",
            reason="",
            provenance=dataclasses.replace(ORIGIN, **changes),  # type: ignore[arg-type]
            chunks=chunks(),
            substituted=None if stand_in is None else str(stand_in),
            notes=notes,
        )


async def test_second_call_is_the_caches_and_survives_a_restart(
    make_box: MakeBox,
) -> None:
    cloud = Trusted()
    box = await make_box(TinyVoice(), cloud=cloud)
    first, sound = await say(box, voice="man")
    await kept(box)
    again, copy = await say(box, voice="man")
    assert (first.tier, again.tier, len(cloud.asked)) == ("cloud", "cache", 1)
    assert copy.size == sound.size
    assert again.provenance == ORIGIN.with_id(first.utterance)
    assert again.receipt.enforced
    await box.stop()
    cloud.is_up = False
    box = await make_box(TinyVoice(), cloud=cloud)
    assert (await say(box, voice="man"))[0].tier == "cache"


async def test_pack_that_can_comes_before_what_was_streamed(make_box: MakeBox) -> None:
    cloud = Trusted()
    first = await make_box(
        TinyVoice(), cloud=cloud, policy=PolicySettings(mode="cloud")
    )
    await say(first)
    await kept(first)
    assert (await say(first))[0].tier == "cache"
    await first.stop()
    box = await make_box(TinyVoice(), cloud=cloud)
    assert (await say(box))[0].tier == "edge"


@pytest.mark.parametrize(
    "changes",
    [
        {"enforced": False},
        {"verified": False},
        {"read_as": "今日特价，新鲜草莓每斤8.8元。"},
        {"rules_version": RULES_VERSION - 1},
        {"table_version": 0},
        {"substituted": "woman"},
        {"note": "the cloud stopped after 0.10 s"},
        {"seconds": MAX_S + 0.4},
    ],
    ids=str,
)
async def test_what_may_be_wrong_or_cut_is_not_kept(
    make_box: MakeBox, changes: dict[str, object]
) -> None:
    cloud = Trusted(**changes)  # type: ignore[arg-type]
    box = await make_box(TinyVoice(), cloud=cloud)
    for _ in range(2):
        speech, _ = await say(box, voice="man")
        assert speech.tier == "cloud"
        await asyncio.sleep(0.1)
    assert box.cache is not None
    assert box.cache.stats().renditions == 0


async def test_what_nobody_heard_to_its_end_is_not_kept(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice(), cloud=Trusted())
    speech = await box.speak(asked(voice="man"), new_utterance())
    assert speech.chunks is not None
    await speech.chunks.__anext__()
    await speech.chunks.aclose()  # type: ignore[attr-defined]
    await asyncio.sleep(0.2)
    assert box.cache is not None
    assert box.cache.stats().renditions == 0
