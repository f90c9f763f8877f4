"""A recording of an engine that chooses readings itself is heard before boxes get it."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud.fleet.ear import Ear
from cloud.fleet.hearing import objection
from cloud.fleet.office import Office
from cloud.fleet.rendering import Renderer, Wishes
from cloud.fleet.settings import FleetSettings
from common.audio.pcm import Pcm
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest
from common.speech import Speech
from common.text import read
from distill import signing
from tests.lines import hum

PRICE = "今日特价，新鲜草莓每斤9.9元，买一送一。"
CALL = "请拨打10086，第3桌取餐"
TWICE, SAME = "原价19.9元，现价9.9元", "会员9.9元，新客9.9元"
SOUND = np.zeros(2400, np.float32)


def heard(text: str, what: str, duration_s: float | None = None) -> str:
    reading = read(text)
    return objection(reading, what, duration_s or 0.25 * len(reading.syllables))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (PRICE, "今日特价新鲜草莓每斤9.9元买一送一"),
        (PRICE, "今日特价,新鲜草莓每斤九点九元,买一送一"),
        # Homophones are what a recogniser errs in.
        (PRICE, "金日特价新鲜草梅每斤9.9元买依送一"),
        (CALL, "请拨打10086第三桌取餐"),
        (CALL, "请拨打幺零零八六,第3桌取餐"),
        ("一起来吧", "衣起来吧"),
        (PRICE, "今日特价新鲜草莓美金酒店酒员买一送一"),
    ],
)
def test_what_is_heard_right_passes(text: str, what: str) -> None:
    assert heard(text, what) == ""


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (PRICE, "今日特价新鲜草莓每斤29.9元买一送一", "九点九 is not heard"),
        (PRICE, "今日特价新鲜草莓每斤8.9元买一送一", "九点九 is not heard"),
        (PRICE, "今日特价新鲜草莓每斤元买一送一", "九点九 is not heard"),
        (PRICE, "今日特价新鲜草莓每斤9.9元买一送一十二", "is heard and not asked for"),
        (PRICE, "今日特价新鲜草莓每斤十酒店酒元买一送一", "九点九 is not heard"),
        (PRICE, "今日特价新鲜草莓每斤酒店元买一送一", "九点九 is not heard"),
        (TWICE, "原价9.9元现价19.9元", "九点九 is not heard"),
        (SAME, "会员9.9元新客元", "九点九 is not heard"),
        (PRICE, "天气很好9.9元", "is heard"),
        (PRICE, "", "is not heard"),
        (CALL, "请拨打1086第3桌取餐", "一零零八六 is not heard"),
        (CALL, "请拨打10086第4桌取餐", "三 is not heard"),
        (CALL, "请拨打第3桌取餐10086", "is not heard"),
    ],
)
def test_number_that_is_heard_otherwise_is_an_objection(
    text: str, what: str, why: str
) -> None:
    assert why in heard(text, what)


@pytest.mark.parametrize("duration_s", [0.5, 60.0])
def test_sound_that_cannot_hold_so_many_syllables_is_an_objection(
    duration_s: float,
) -> None:
    assert "syllables" in heard(PRICE, PRICE, duration_s)


@settings(max_examples=60, deadline=None)
@given(what=st.text(max_size=30))
def test_whatever_is_heard_is_judged(what: str) -> None:
    assert isinstance(heard(CALL, what), str)


SCRIPT = """
import json, os, sys
print(json.dumps({"ready": True} if "no" not in sys.argv else {"error": "no model"}))
sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    if "dies" in sys.argv:
        break
    size = os.path.getsize(asked["wav"])
    print(json.dumps({"text": f"{asked['language']} {size}"} if size > 100 else {}))
    sys.stdout.flush()
"""


def ear(*words: str) -> Ear:
    return Ear([sys.executable, "-c", SCRIPT, *words])


async def test_ear_hears_one_file_after_the_other() -> None:
    one = ear()
    assert await one.hear(SOUND) == "zh 4844"
    assert await one.hear(SOUND[:1200]) == "zh 2444"
    await one.stop()
    assert await one.hear(SOUND) == "zh 4844"
    await one.stop()
    await one.stop()


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (ear("dies"), "ended"),
        (ear("no"), "no model"),
        (Ear(["/nowhere/python"]), "make judge"),
        (Ear(["/bin/true"]), "ended"),
        (Ear(["/bin/echo", "nonsense"]), "ended"),
    ],
)
async def test_ear_that_cannot_hear_says_so_each_time(broken: Ear, why: str) -> None:
    for _ in range(2):
        with pytest.raises(YaoheError, match=why) as refusal:
            await broken.hear(SOUND)
        assert refusal.value.code == "not_ready"
    await broken.stop()


@pytest.fixture
def office(tmp_path: Path) -> Office:
    signing.keygen(tmp_path / "keys")
    office = Office(tmp_path / "cloud", FleetSettings(chain="tea"))
    office.repository.found(tmp_path / "keys")
    return office


async def free(request: SpeechRequest, utterance: str) -> Speech:
    """Speak like an engine that chooses readings itself."""
    speech = await hum(request, utterance)
    speech.receipt = dataclasses.replace(speech.receipt, enforced=False)
    speech.provenance = dataclasses.replace(speech.provenance, engine="free")
    return speech


async def settled(office: Office, **parts: object) -> tuple[str, str]:
    """State of a wish, and the engine whose rendition boxes get."""
    wishes = Wishes(office.db)
    number = wishes.add(PRICE)
    renderer = Renderer(wishes, office.catalogue, free, **parts)  # type: ignore[arg-type]
    while await renderer.render_next():
        pass
    wish, rows = wishes.find(number), office.catalogue.phrases()
    if not rows:
        return wish.error or "", ""
    (row,) = rows
    engine = "free" if b"free" in office.blobs.read(row.sha256) else "hum"
    return wish.state, engine


async def right(pcm: Pcm) -> str:
    return PRICE


async def wrong(pcm: Pcm) -> str:
    return PRICE.replace("9.9", "8.9")


async def deaf(pcm: Pcm) -> str:
    raise YaoheError("not_ready", "no recogniser")


async def test_recording_that_was_heard_right_goes_to_the_boxes(office: Office) -> None:
    assert await settled(office, hear=right, spare=hum) == ("done", "free")


@pytest.mark.parametrize("hear", [wrong, deaf, None])
async def test_what_may_be_wrong_is_said_by_an_engine_of_symbols(
    office: Office, hear: object
) -> None:
    assert await settled(office, hear=hear, spare=hum) == ("done", "hum")


async def test_without_such_an_engine_the_phrase_is_refused(office: Office) -> None:
    state, engine = await settled(office, hear=wrong)
    assert "九点九 is not heard" in state
    assert engine == ""
