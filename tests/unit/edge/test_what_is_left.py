"""When nothing that is good enough can speak, what is left speaks, declared."""

from __future__ import annotations

import pytest

from common.errors import YaoheError
from common.protocol.synthesis import parse_speech
from common.speech import Speech, new_utterance
from edge.service import Service
from edge.settings import PolicySettings
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.tiny import TinyVoice, pack


async def speak(box: Service, **values: object) -> Speech:
    request = parse_speech({"input": "今日特价", **values})
    return await box.speak(request, new_utterance())


@pytest.mark.parametrize("mode", ["local", "hybrid", "cloud"])
async def test_a_low_pack_in_the_right_voice_comes_before_another_voice(
    make_box: MakeBox, mode: str
) -> None:
    man = pack(TinyVoice(voices=("man",)), "man@1.0.0", quality=40)
    policy = PolicySettings(mode=mode, min_quality=60)  # type: ignore[arg-type]
    box = await make_box(man, starter=TinyVoice(), policy=policy)
    speech = await speak(box, voice="man")
    assert (speech.tier, speech.substituted) == ("edge", None)
    assert speech.provenance.pack == "man@1.0.0"
    assert "below the least quality" in speech.reason
    assert "nothing better is left" in speech.reason


async def test_where_it_fails_too_the_starter_speaks_declared(
    make_box: MakeBox,
) -> None:
    broken = pack(TinyVoice(voices=("man",), fails_at=0), "man@1.0.0", quality=40)
    box = await make_box(
        broken, starter=TinyVoice(), policy=PolicySettings(min_quality=60)
    )
    speech = await speak(box, voice="man")
    assert (speech.tier, speech.substituted) == ("last-resort", "woman")


async def test_where_nothing_is_left_the_error_says_so(make_box: MakeBox) -> None:
    broken = pack(TinyVoice(fails_at=0), quality=40)
    box = await make_box(broken, policy=PolicySettings(min_quality=60))
    with pytest.raises(YaoheError) as refusal:
        await speak(box)
    assert refusal.value.code == "voice_unavailable"
