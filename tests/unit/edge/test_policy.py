from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from common.audio.opus import decode
from common.audio.pcm import Pcm
from common.audio.provenance import Provenance
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.speech import Speech, new_utterance
from common.text import read
from common.text.receipt import Receipt
from edge.rendition import Rendition
from edge.service import Service
from edge.settings import PolicySettings, SynthesisSettings
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.tiny import TinyVoice, heard_hertz, hertz, pack

TEXT = "今日特价，新鲜草莓每斤9.9元。"


def asked(text: str = TEXT, **values: object) -> SpeechRequest:
    return parse_speech({"input": text, **values})


async def say(box: Service, text: str = TEXT, **values: object) -> tuple[Speech, Pcm]:
    """Let the box speak and listen to the end."""
    speech = await box.speak(asked(text, **values), new_utterance())
    if speech.whole is not None:
        assert speech.whole.opus is not None
        return speech, decode(speech.whole.opus)
    assert speech.chunks is not None
    return speech, np.concatenate([chunk async for chunk in speech.chunks])


async def kept(box: Service, count: int = 1) -> None:
    assert box.cache is not None
    for _ in range(4000):
        if box.cache.stats().renditions >= count:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("nothing was kept")


class Cloud:
    """A cloud of a few lines."""

    def __init__(self, error: YaoheError | None = None, is_up: bool = True) -> None:
        self.error = error
        self.is_up = is_up
        self.asked: list[SpeechRequest] = []
        self.repertoire: Mapping[str, Sequence[str]] = {
            "woman": ("zh", "gd", "sc"),
            "man": ("zh",),
            "grandma": ("sc",),
        }

    async def speak(
        self, request: SpeechRequest, utterance: str, deadline_s: float
    ) -> Speech:
        self.asked.append(request)
        if self.error is not None:
            raise self.error

        async def chunks() -> AsyncIterator[Pcm]:
            yield np.full(2400, 0.1, np.float32)

        return Speech(
            utterance,
            Receipt(utterance, read(request.input, request.dialect), False),
            tier="cloud",
            reason="",
            provenance=Provenance("cloudy"),
            chunks=chunks(),
        )


async def test_the_pack_speaks_first_and_the_cache_ever_after(
    make_box: MakeBox,
) -> None:
    voice = TinyVoice()
    box = await make_box(voice)
    first, sound = await say(box)
    await kept(box)
    again, copy = await say(box)
    assert (first.tier, again.tier) == ("edge", "cache")
    assert voice.begun == 1
    assert copy.size == sound.size
    assert abs(heard_hertz(copy) - heard_hertz(sound)) <= 3
    assert again.receipt.reading == first.receipt.reading


async def test_cached_speech_says_where_it_comes_from(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice())
    first, _ = await say(box)
    await kept(box)
    again, _ = await say(box)
    assert again.provenance == first.provenance.with_id(first.utterance)


async def test_two_texts_side_by_side_are_never_mixed_up(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice())
    texts = ["草莓9.9元", "草莓8.8元"]
    pitches = [hertz(read(text).symbols) for text in texts]
    assert abs(pitches[0] - pitches[1]) > 10
    for _ in range(2):
        said = await asyncio.gather(*(say(box, texts[n % 2]) for n in range(100)))
        for number, (_, sound) in enumerate(said):
            assert abs(heard_hertz(sound) - pitches[number % 2]) <= 3
        await kept(box, 2)


async def test_a_new_price_is_never_answered_with_the_old(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice())
    for price in ("9.9", "8.8", "19.9"):
        text = f"草莓每斤{price}元"
        _, sound = await say(box, text)
        assert abs(heard_hertz(sound) - hertz(read(text).symbols)) <= 3


async def test_another_pack_does_not_play_what_the_old_one_said(
    make_box: MakeBox, tmp_path: Path
) -> None:
    box = await make_box(pack(TinyVoice(), "one@1.0.0"))
    await say(box)
    await kept(box)
    await box.stop()
    after = TinyVoice()
    box = await make_box(pack(after, "two@1.0.0"))
    speech, _ = await say(box)
    assert (speech.tier, after.begun) == ("edge", 1)


async def test_a_verified_cloud_rendition_is_preferred_over_the_pack(
    make_box: MakeBox,
) -> None:
    voice = TinyVoice()
    box = await make_box(voice)
    await say(box)
    await kept(box)
    assert box.cache is not None
    row = box.cache.store.read("SELECT phrase_key FROM renditions")[0]
    ours = box.cache.best(row["phrase_key"], pack_sha256=pack(voice).sha256)
    assert ours is not None
    theirs = dataclasses.replace(
        ours.rendition, origin="cloud", engine="chattts", pack_sha256="", enforced=False
    )
    assert isinstance(theirs, Rendition)
    box.cache.put(theirs).result(20)
    speech, _ = await say(box)
    assert (speech.tier, speech.receipt.enforced) == ("cache", False)


async def test_speech_without_sound_is_an_error_and_not_kept(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(chunks=0))
    with pytest.raises(YaoheError) as refusal:
        await say(box)
    assert refusal.value.code == "voice_unavailable"
    assert box.cache is not None
    assert box.cache.stats().renditions == 0


async def test_a_pack_that_fails_gives_way_to_the_starter(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice(fails_at=0), starter=TinyVoice())
    speech, sound = await say(box)
    assert speech.tier == "last-resort"
    assert "failed" in speech.reason
    assert sound.size


async def test_a_pack_that_fails_midway_breaks_off_and_is_not_kept(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(fails_at=3), starter=TinyVoice())
    with pytest.raises(RuntimeError, match="on purpose"):
        await say(box)
    assert box.cache is not None
    assert box.cache.stats().renditions == 0


async def test_the_cloud_speaks_what_no_pack_can(make_box: MakeBox) -> None:
    cloud = Cloud()
    box = await make_box(TinyVoice(), cloud=cloud)
    speech, _ = await say(box, "你好", dialect="sc")
    assert speech.tier == "cloud"
    assert "no pack speaks sc" in speech.reason
    assert len(cloud.asked) == 1


async def test_a_pack_below_the_least_quality_leaves_it_to_the_cloud(
    make_box: MakeBox,
) -> None:
    policy = PolicySettings(min_quality=60)
    low = pack(TinyVoice(), quality=50)
    box = await make_box(low, starter=low, policy=policy, cloud=Cloud())
    assert (await say(box))[0].tier == "cloud"
    box = await make_box(low, starter=low, policy=policy)
    assert (await say(box))[0].tier == "last-resort"


async def test_mode_local_never_asks_the_cloud(make_box: MakeBox) -> None:
    cloud = Cloud()
    box = await make_box(TinyVoice(), policy=PolicySettings(mode="local"), cloud=cloud)
    with pytest.raises(YaoheError):
        await say(box, "你好", dialect="sc")
    assert cloud.asked == []


async def test_mode_cloud_asks_it_first_and_the_pack_when_it_is_gone(
    make_box: MakeBox,
) -> None:
    cloud = Cloud()
    box = await make_box(TinyVoice(), policy=PolicySettings(mode="cloud"), cloud=cloud)
    assert (await say(box))[0].tier == "cloud"
    cloud.error = YaoheError("deadline_exceeded", "late")
    speech, _ = await say(box)
    assert (speech.tier, "deadline_exceeded" in speech.reason) == ("edge", True)
    cloud.is_up = False
    assert (await say(box, "别的话"))[0].tier == "edge"


async def test_a_voice_that_only_the_cloud_has_is_declared_when_it_is_gone(
    make_box: MakeBox,
) -> None:
    woman = TinyVoice()
    box = await make_box(woman, starter=pack(woman))
    for _ in range(2):
        speech, _ = await say(box, voice="man")
        assert speech.substituted == "woman"
        await kept(box)
    assert speech.tier == "cache"
    assert "no cloud" in speech.reason
    assert woman.begun == 1


async def test_what_another_voice_said_is_not_kept_as_the_asked_one(
    make_box: MakeBox,
) -> None:
    woman = TinyVoice()
    box = await make_box(woman, starter=pack(woman))
    await say(box, voice="man")
    await kept(box)
    speech, _ = await say(box, voice="woman")
    assert (speech.tier, speech.substituted) == ("cache", None)


async def test_another_dialect_needs_the_callers_permission(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(), starter=TinyVoice())
    with pytest.raises(YaoheError) as refusal:
        await say(box, "你好", dialect="gd")
    assert refusal.value.code == "voice_unavailable"
    speech, _ = await say(box, "你好", dialect="gd", fallback="mandarin")
    assert (speech.tier, speech.substituted) == ("edge", "zh")
    assert speech.receipt.reading.dialect == "zh"


async def test_a_dialect_that_the_cloud_has_needs_no_permission(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(), cloud=Cloud())
    speech, _ = await say(box, "你好", dialect="sc", fallback="mandarin")
    assert (speech.tier, speech.substituted) == ("cloud", None)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"voice": "nobody"}, "unknown_voice"),
        ({"model": "other"}, "not_found"),
        ({"text": "（）！"}, "nothing_to_say"),
        ({"text": "ก你好"}, "unreadable_text"),
    ],
)
async def test_what_nobody_could_speak_is_refused_before_any_voice(
    make_box: MakeBox, values: dict[str, str], code: str
) -> None:
    voice = TinyVoice()
    box = await make_box(voice, starter=voice)
    with pytest.raises(YaoheError) as refusal:
        await say(box, **({"text": TEXT} | values))
    assert refusal.value.code == code
    assert voice.begun == 0


async def test_a_voice_of_the_cloud_is_known_while_it_is_there(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(), cloud=Cloud())
    assert (await say(box, "要得", voice="grandma", dialect="sc"))[0].tier == "cloud"
    assert set(box.repertoire) == {"woman", "man", "grandma"}


async def test_unreadable_characters_are_left_out_where_the_caller_says_so(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice())
    speech, _ = await say(box, "ก你好", on_unreadable="skip")
    assert speech.receipt.reading.unread


async def test_a_deadline_that_the_caller_sets_is_kept(make_box: MakeBox) -> None:
    slow = TinyVoice(pause_s=0.3)
    box = await make_box(slow, starter=pack(slow))
    with pytest.raises(YaoheError) as refusal:
        await say(box, deadline_ms=20)
    assert refusal.value.code == "deadline_exceeded"
    assert (await say(box))[0].tier == "edge"


async def test_a_full_stage_says_so(make_box: MakeBox) -> None:
    voice = TinyVoice()
    voice.gate.clear()
    box = await make_box(voice, synthesis=SynthesisSettings(queue=1))
    one = asyncio.create_task(say(box, "一"))
    await asyncio.sleep(0.05)
    with pytest.raises(YaoheError) as refusal:
        await say(box, "二")
    assert refusal.value.code == "queue_full"
    assert refusal.value.retry_after_s is not None
    voice.gate.set()
    await one


async def test_every_receipt_says_who_spoke_and_why(make_box: MakeBox) -> None:
    box = await make_box(TinyVoice())
    speech, _ = await say(box)
    account = box.receipts.find(speech.utterance).as_dict()
    assert account["tier"] == "edge"
    assert account["text"] == TEXT
    assert account["reason"] == speech.reason
    assert account["provenance"]["pack"] == "tiny@1.0.0"


async def test_a_damaged_cache_is_rebuilt_while_the_box_speaks(
    make_box: MakeBox, tmp_path: Path
) -> None:
    data = tmp_path / "hurt"
    data.mkdir()
    (data / "cache.db").write_bytes(b"garbage" * 10_000)
    box = await make_box(TinyVoice(), data=data)
    assert (await say(box))[0].tier == "edge"
    await kept(box)
    assert (await say(box))[0].tier == "cache"
    assert box.cache is not None
    assert box.cache.stats().rebuilt == 1


async def test_a_box_that_can_write_nothing_speaks_all_the_same(
    make_box: MakeBox, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    data = tmp_path / "file" / "box"
    box = await make_box(TinyVoice(), data=data)
    for _ in range(2):
        assert (await say(box))[0].tier == "edge"
