"""From a request to sound: order, refusals, deadlines, leaving clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import numpy as np
import pytest

from cloud.dispatch import Dispatch
from cloud.engine.base import Chunk, Job
from cloud.settings import CacheSettings, CloudSettings, QueueSettings
from common.audio.pcm import Pcm
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.receipts import ReceiptBook
from common.speech import Speech, new_utterance
from tests.unit.cloud.conftest import SYLLABLE, ToneEngine

Build = Callable[..., Dispatch]


def asked(text: str = "今日特价", **more: object) -> SpeechRequest:
    return parse_speech({"input": text, **more})


async def heard(speech: Speech) -> Pcm:
    assert speech.chunks is not None
    return np.concatenate([chunk async for chunk in speech.chunks])


async def refused(dispatch: Dispatch, request: SpeechRequest) -> YaoheError:
    with pytest.raises(YaoheError) as refusal:
        await dispatch.speak(request, new_utterance())
    return refusal.value


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


async def test_every_syllable_is_spoken(engine: ToneEngine, dispatch_of: Build) -> None:
    speech = await dispatch_of(engine).speak(asked(), "u1")
    assert (speech.tier, speech.utterance) == ("cloud", "u1")
    assert (await heard(speech)).size == 4 * SYLLABLE
    assert speech.receipt.enforced
    assert speech.provenance.engine == "tone"
    assert speech.provenance.pack_sha256 == "0" * 64


async def test_the_same_words_are_answered_from_memory(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    dispatch = dispatch_of(engine)
    first = await heard(await dispatch.speak(asked(), "u1"))
    again = await dispatch.speak(asked(), "u2")
    assert again.tier == "cache"
    assert again.whole is not None
    assert again.whole.pcm is not None
    assert engine.begun == 1
    np.testing.assert_allclose(again.whole.pcm, first, atol=1 / 32768)


@pytest.mark.parametrize(
    "more",
    [
        {"voice": "man"},
        {"speed": 1.5},
        {"pitch": 1},
        {"volume": -3},
        {"seed": 7},
        {"temperature": 0.5},
    ],
    ids=str,
)
async def test_other_words_are_not_answered_from_memory(
    engine: ToneEngine, dispatch_of: Build, more: dict[str, object]
) -> None:
    dispatch = dispatch_of(engine)
    await heard(await dispatch.speak(asked(), "u1"))
    assert (await dispatch.speak(asked("今日特价", **more), "u2")).tier == "cloud"


async def test_nothing_is_kept_where_the_cache_has_no_room(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    dispatch = dispatch_of(engine, CloudSettings(cache=CacheSettings(max_bytes=0)))
    await heard(await dispatch.speak(asked(), "u1"))
    assert (await dispatch.speak(asked(), "u2")).tier == "cloud"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"voice": "nobody"}, "unknown_voice"),
        ({"model": "gpt-9"}, "not_found"),
        ({"voice": "man", "dialect": "sc"}, "voice_unavailable"),
        ({"dialect": "gd"}, "voice_unavailable"),
        ({"input": "……！！"}, "nothing_to_say"),
        ({"input": "😀😀"}, "nothing_to_say"),
        ({"input": "价格\ue000元"}, "unreadable_text"),
    ],
    ids=str,
)
async def test_what_cannot_be_spoken_is_refused_before_the_engine(
    engine: ToneEngine, dispatch_of: Build, values: dict[str, str], code: str
) -> None:
    request = parse_speech({"input": "今日特价", **values})
    assert (await refused(dispatch_of(engine), request)).code == code
    assert engine.begun == 0


async def test_unreadable_characters_are_skipped_where_the_caller_says_so(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    request = asked("价格\ue000元", on_unreadable="skip")
    speech = await dispatch_of(engine).speak(request, "u")
    assert speech.receipt.reading.unread
    await heard(speech)


async def test_mandarin_stands_in_where_the_caller_allows_it(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    request = asked(voice="man", dialect="sc", fallback="mandarin")
    speech = await dispatch_of(engine).speak(request, "u")
    assert speech.substituted == "zh"
    assert speech.receipt.reading.dialect == "zh"
    await heard(speech)


async def test_the_engines_first_voice_speaks_for_callers_who_name_none(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.repertoire = {"anna": ("zh",), "bo": ("zh", "sc")}
    dispatch = dispatch_of(engine)
    for request in (asked(), asked(voice="alloy"), asked(voice="woman")):
        speech = await dispatch.speak(request, "u")
        assert speech.substituted == "anna"
    named = await dispatch.speak(asked(voice="bo", dialect="sc"), "u")
    assert named.substituted is None
    both = await dispatch.speak(asked(dialect="sc", fallback="mandarin"), "u")
    assert both.substituted == "anna,zh"
    assert (await refused(dispatch, asked(voice="man"))).code == "unknown_voice"
    with pytest.raises(YaoheError, match="woman"):
        await dispatch.speak(asked(), "u", may_stand_in=False)


async def test_no_work_is_taken_before_the_engine_is_loaded(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.is_ready = False
    error = await refused(dispatch_of(engine), asked())
    assert error.code == "not_ready"
    assert error.retry_after_s


async def test_a_full_queue_refuses_at_once(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.gate.clear()
    settings = CloudSettings(queue=QueueSettings(capacity=1))
    dispatch = dispatch_of(engine, settings)
    running = [
        asyncio.create_task(dispatch.speak(asked(f"{n}号"), str(n))) for n in (1, 2)
    ]
    await until(lambda: engine.begun == 1)
    error = await asyncio.wait_for(refused(dispatch, asked("三号")), 5)
    assert error.code == "queue_full"
    assert error.retry_after_s
    engine.gate.set()
    for task in running:
        await heard(await task)


async def test_a_deadline_that_passes_stops_the_work(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.gate.clear()
    dispatch = dispatch_of(engine)
    error = await refused(dispatch, asked(deadline_ms=50))
    assert error.code == "deadline_exceeded"
    assert engine.ended == engine.begun == 1


async def test_who_waits_too_long_in_the_queue_never_begins(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.gate.clear()
    dispatch = dispatch_of(engine)
    first = asyncio.create_task(dispatch.speak(asked("一号"), "1"))
    await until(lambda: engine.begun == 1)
    error = await refused(dispatch, asked("二号", deadline_ms=50))
    assert error.code == "deadline_exceeded"
    engine.gate.set()
    await heard(await first)
    assert engine.begun == 1


async def test_a_listener_who_leaves_stops_the_work_and_frees_the_slot(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    settings = CloudSettings(queue=QueueSettings(ahead_s=0.1))
    dispatch = dispatch_of(engine, settings)
    speech = await dispatch.speak(asked("今日特价，新鲜草莓，买一送一。"), "u")
    assert speech.chunks is not None
    await speech.chunks.__anext__()
    await speech.chunks.aclose()  # type: ignore[attr-defined]
    assert engine.ended == 1
    assert engine.made < 12
    other = await asyncio.wait_for(dispatch.speak(asked("下一位"), "v"), 5)
    assert (await heard(other)).size == 3 * SYLLABLE


async def test_a_cancelled_call_stops_the_work(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.gate.clear()
    task = asyncio.create_task(dispatch_of(engine).speak(asked(), "u"))
    await until(lambda: engine.begun == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.ended == 1


async def test_half_a_sentence_is_never_kept(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.failure, engine.fails_after = YaoheError("voice_unavailable", "broke"), 2
    dispatch = dispatch_of(engine)
    speech = await dispatch.speak(asked(), "u")
    with pytest.raises(YaoheError, match="broke"):
        await heard(speech)
    engine.failure = None
    assert (await dispatch.speak(asked(), "u")).tier == "cloud"


async def test_an_engine_that_fails_before_any_sound_is_the_answers_error(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    engine.failure = YaoheError("voice_unavailable", "broke")
    assert (await refused(dispatch_of(engine), asked())).code == "voice_unavailable"


async def test_the_receipt_can_be_found_afterwards(engine: ToneEngine) -> None:
    from cloud.metrics import Metrics

    book = ReceiptBook()
    dispatch = Dispatch(engine, CloudSettings(), Metrics(), book)
    await heard(await dispatch.speak(asked("9.9元"), "u9"))
    assert book.find("u9").reading.text == "9.9元"


async def test_silence_is_an_error_and_is_never_kept(dispatch_of: Build) -> None:
    class Silent(ToneEngine):
        is_silent = True

        async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
            if not self.is_silent:
                async for chunk in super().synthesize(job):
                    yield chunk

    engine = Silent()
    dispatch = dispatch_of(engine)
    assert (await refused(dispatch, asked())).code == "voice_unavailable"
    engine.is_silent = False
    assert (await heard(await dispatch.speak(asked(), "u"))).size == 4 * SYLLABLE


async def test_an_hour_of_sound_does_not_stay_in_memory(
    engine: ToneEngine, dispatch_of: Build
) -> None:
    limit = CloudSettings(cache=CacheSettings(max_bytes=8 * 2 * 3 * SYLLABLE))
    dispatch = dispatch_of(engine, limit)
    await heard(await dispatch.speak(asked("一二三"), "u"))
    await heard(await dispatch.speak(asked("一二三四"), "u"))
    tiers = [(await dispatch.speak(asked(t), "v")).tier for t in ("一二三", "一二三四")]
    assert tiers == ["cache", "cloud"]
