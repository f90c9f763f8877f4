from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from common.audio.pcm import Pcm
from common.errors import YaoheError
from edge.stage import Listener, Make, Stage
from tests.unit.edge.tiny import CHUNK, TinyVoice

MakeStage = Callable[..., Stage]


@pytest.fixture
def make_stage() -> Iterator[MakeStage]:
    stages: list[Stage] = []

    def make(
        workers: int = 1, queue: int = 8, ahead_s: float = 60.0, keep_s: float = 30.0
    ) -> Stage:
        stage = Stage(workers=workers, queue=queue, ahead_s=ahead_s, keep_s=keep_s)
        stages.append(stage)
        return stage

    yield make
    for stage in stages:
        stage.close()


def spoken_by(voice: TinyVoice) -> Make:
    return lambda: voice.speak((), voice="woman")


async def heard(listener: Listener) -> Pcm:
    return np.concatenate([chunk async for chunk in listener])


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(4000):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to be")


async def test_a_listener_hears_all_of_it_in_order(make_stage: MakeStage) -> None:
    voice = TinyVoice(chunks=7)
    sound = await heard(make_stage().join("a", spoken_by(voice)))
    assert np.array_equal(sound, np.concatenate(list(spoken_by(TinyVoice(chunks=7))())))


async def test_the_same_phrase_is_spoken_once_for_all_who_ask(
    make_stage: MakeStage,
) -> None:
    stage, voice = make_stage(), TinyVoice()
    voice.gate.clear()
    listeners = [stage.join("a", spoken_by(voice)) for _ in range(20)]
    voice.gate.set()
    sounds = await asyncio.gather(*(heard(one) for one in listeners))
    assert voice.begun == 1
    assert {sound.tobytes() for sound in sounds} == {sounds[0].tobytes()}


async def test_who_joins_late_hears_it_from_the_first_sample(
    make_stage: MakeStage,
) -> None:
    stage, voice = make_stage(), TinyVoice()
    first = stage.join("a", spoken_by(voice))
    begin = await first.__anext__()
    late = stage.join("a", spoken_by(voice))
    assert np.array_equal((await heard(late))[:CHUNK], begin)


async def test_a_short_phrase_does_not_wait_for_a_long_one(
    make_stage: MakeStage,
) -> None:
    long, short = TinyVoice(chunks=200, pause_s=0.01), TinyVoice(chunks=2)
    stage = make_stage()
    slow = stage.join("long", spoken_by(long))
    await slow.__anext__()
    await heard(stage.join("short", spoken_by(short)))
    assert long.made < 200
    await slow.aclose()


async def test_one_too_many_is_refused_with_a_time_to_come_back(
    make_stage: MakeStage,
) -> None:
    stage, voice = make_stage(queue=2), TinyVoice()
    voice.gate.clear()
    kept = [stage.join(key, spoken_by(voice)) for key in ("a", "b")]
    with pytest.raises(YaoheError) as refusal:
        stage.join("c", spoken_by(voice))
    assert refusal.value.code == "queue_full"
    assert refusal.value.retry_after_s is not None
    voice.gate.set()
    for listener in kept:
        await heard(listener)
    await heard(stage.join("c", spoken_by(voice)))


async def test_the_last_to_leave_stops_the_voice(make_stage: MakeStage) -> None:
    stage, voice = make_stage(), TinyVoice(chunks=1000, pause_s=0.001)
    listeners = [stage.join("a", spoken_by(voice)) for _ in range(2)]
    await listeners[0].__anext__()
    await listeners[0].aclose()
    await listeners[1].__anext__()
    assert voice.closed == 0
    await listeners[1].aclose()
    await listeners[1].aclose()
    await until(lambda: voice.closed == 1)
    await until(lambda: stage.active == 0)
    assert voice.made < 1000


async def test_one_who_leaves_before_the_voice_begins_costs_nothing(
    make_stage: MakeStage,
) -> None:
    stage, busy, voice = make_stage(), TinyVoice(), TinyVoice()
    busy.gate.clear()
    stage.join("busy", spoken_by(busy))
    await stage.join("a", spoken_by(voice)).aclose()
    busy.gate.set()
    await until(lambda: stage.active == 0)
    assert voice.begun == 0


async def test_a_finished_phrase_is_handed_on_whole(make_stage: MakeStage) -> None:
    done: list[Pcm] = []
    stage, voice = make_stage(), TinyVoice(chunks=3)
    listener = stage.join("a", spoken_by(voice), lambda pcm, _: done.append(pcm))
    sound = await heard(listener)
    await until(lambda: bool(done))
    assert np.array_equal(done[0], sound)


@pytest.mark.parametrize("chunks", [6, 40])
async def test_a_phrase_too_long_to_keep_is_heard_and_not_handed_on(
    make_stage: MakeStage, chunks: int
) -> None:
    done: list[Pcm] = []
    stage, voice = make_stage(keep_s=0.5, ahead_s=0.3), TinyVoice(chunks=chunks)
    listener = stage.join("a", spoken_by(voice), lambda pcm, _: done.append(pcm))
    assert (await heard(listener)).size == chunks * CHUNK
    await until(lambda: stage.active == 0)
    assert done == []


async def test_an_abandoned_phrase_is_never_handed_on(make_stage: MakeStage) -> None:
    done: list[Pcm] = []
    stage, voice = make_stage(), TinyVoice(chunks=1000, pause_s=0.001)
    listener = stage.join("a", spoken_by(voice), lambda pcm, _: done.append(pcm))
    await listener.__anext__()
    await listener.aclose()
    await until(lambda: stage.active == 0)
    assert done == []


async def test_a_voice_rests_when_its_listener_is_slow(make_stage: MakeStage) -> None:
    stage, voice = make_stage(ahead_s=1.0, keep_s=1.0), TinyVoice(chunks=100)
    listener = stage.join("a", spoken_by(voice))
    await listener.__anext__()
    await until(lambda: voice.made >= 11)
    await asyncio.sleep(0.05)
    assert voice.made <= 12
    assert (await heard(listener)).size == 99 * CHUNK


async def test_a_stalled_listener_does_not_hold_up_another(
    make_stage: MakeStage,
) -> None:
    stage, voice = make_stage(ahead_s=0.2), TinyVoice(chunks=50)
    stalled = stage.join("a", spoken_by(voice))
    lively = stage.join("a", spoken_by(voice))
    assert (await heard(lively)).size == 50 * CHUNK
    assert (await heard(stalled)).size == 50 * CHUNK


async def test_a_voice_that_fails_tells_every_listener(make_stage: MakeStage) -> None:
    stage, voice = make_stage(), TinyVoice(fails_at=2)
    voice.gate.clear()
    listeners = [stage.join("a", spoken_by(voice)) for _ in range(3)]
    voice.gate.set()
    for listener in listeners:
        with pytest.raises(RuntimeError, match="on purpose"):
            await heard(listener)
    await heard(stage.join("b", spoken_by(TinyVoice())))


async def test_stopping_the_stage_wakes_who_waits() -> None:
    stage, voice = Stage(workers=1, queue=2, ahead_s=1, keep_s=1), TinyVoice()
    voice.gate.clear()
    listener = stage.join("a", spoken_by(voice))
    waiting = asyncio.create_task(heard(listener))
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(asyncio.to_thread(stage.close))
    await until(lambda: stage._is_closed)
    voice.gate.set()
    await closing
    with pytest.raises(YaoheError, match="stopping"):
        await waiting
