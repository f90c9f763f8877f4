from __future__ import annotations

import asyncio
import random

import pytest

from common.audio.pcm import to_s16
from common.errors import YaoheError
from common.protocol.frames import Flags, Frame
from common.sessions import Sessions
from tests.unit.stream.wire import Tones, Wire, events, frames, pcm_of, tone

TEXT = "今日特价，新鲜草莓每斤9.9元。"


@pytest.mark.parametrize("codec", ["pcm", "opus"])
async def test_a_cut_socket_loses_nothing_and_repeats_nothing(
    sessions: Sessions, codec: str
) -> None:
    whole = Tones(chunks=60)
    wire = Wire(sessions, whole)
    wire.say(type="start", codec=codec, input=TEXT, bitrate=32_000)
    uncut = frames(await wire.until("end"))
    await wire.cut()
    chance = random.Random(7)
    tones = Tones(chunks=60)
    wire = Wire(sessions, tones)
    wire.say(type="start", codec=codec, input=TEXT, bitrate=32_000)
    token = events(await wire.until("started"), "started")[0]["token"]
    got: list[Frame] = []
    ends: list[dict[str, object]] = []
    while not ends:
        for _ in range(chance.randrange(1, 30)):
            item = await wire.hear()
            if isinstance(item, Frame):
                assert item.seq == len(got)
                got.append(item)
            elif item["type"] == "end":
                ends.append(item)
                break
            if got and chance.random() < 0.3:
                wire.say(type="ack", seq=len(got))
        await wire.cut()
        if not ends:
            wire = Wire(sessions, tones)
            wire.say(type="resume", token=token, seq=len(got))
            await wire.until("resumed")
    assert [frame.payload for frame in got] == [frame.payload for frame in uncut]
    assert [f.timestamp for f in got] == [f.timestamp for f in uncut]
    assert tones.spoken == [TEXT]


async def test_what_was_sent_before_the_cut_says_so(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    heard = await wire.until("end")
    token = events(heard, "started")[0]["token"]
    await wire.cut()
    wire = Wire(sessions, tones)
    wire.say(type="resume", token=token, seq=1)
    again = await wire.until("end")
    assert frames(again)[0].seq == 1
    assert all(frame.flags & Flags.REPLAYED for frame in frames(again))
    assert not any(frame.flags & Flags.REPLAYED for frame in frames(heard))
    await wire.cut()


async def test_the_end_is_told_again_to_one_who_missed_it(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    heard = await wire.until("end")
    token = events(heard, "started")[0]["token"]
    count = len(frames(heard))
    wire.say(type="ack", seq=count)
    await wire.cut()
    wire = Wire(sessions, tones)
    wire.say(type="resume", token=token, seq=count)
    assert events(await wire.until("end"), "end") == events(heard, "end")
    await wire.cut()


async def test_work_goes_on_while_nobody_listens_and_stops_after_the_grace(
    tones: Tones,
) -> None:
    sessions = Sessions(grace_s=0.3)
    tones = Tones(chunks=1_000_000)
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    token = events(await wire.until("started"), "started")[0]["token"]
    while not isinstance(await wire.hear(), Frame):
        pass
    await wire.cut()
    assert (tones.stopped, len(sessions)) == (0, 1)
    for _ in range(400):
        if tones.stopped:
            break
        await asyncio.sleep(0.02)
    assert (tones.stopped, len(sessions), sessions.held) == (1, 0, 0)
    with pytest.raises(YaoheError, match="no stream has this token"):
        sessions.find(token)


async def test_the_producer_pauses_at_the_cap_and_goes_on_with_an_ack() -> None:
    sessions = Sessions(max_bytes=20_000)
    tones = Tones(chunks=100)
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    got: list[Frame] = []
    while sum(len(frame.payload) for frame in got) < 20_000:
        item = await wire.hear()
        if isinstance(item, Frame):
            got.append(item)
    for _ in range(50):
        await asyncio.sleep(0)
    made = tones.made
    assert made < 20
    await asyncio.sleep(0.05)
    assert tones.made == made
    while True:
        wire.say(type="ack", seq=len(got))
        item = await wire.hear()
        if isinstance(item, Frame):
            got.append(item)
        elif item["type"] == "end":
            break
    assert b"".join(f.payload for f in got) == to_s16(tone(TEXT, 100))
    await wire.cut()


async def test_the_newest_socket_has_the_stream(tones: Tones) -> None:
    sessions = Sessions()
    tones.gate.clear()
    first, second = Wire(sessions, tones), Wire(sessions, tones)
    first.say(type="start", codec="pcm", input=TEXT)
    token = events(await first.until("receipt"), "started")[0]["token"]
    second.say(type="resume", token=token, seq=0)
    await second.until("resumed")
    tones.gate.set()
    assert pcm_of(await second.until("end")).size == 5000
    await first.cut()
    assert len(sessions) == 1
    await second.cut()
    sessions.close()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"token": "0" * 32, "seq": 0}, "not_found"),
        ({"token": "0", "seq": 0}, "invalid_request"),
        ({"seq": 10_000}, "invalid_request"),
        ({"seq": 0}, "invalid_request"),
        ({"seq": 3, "stream": 8}, "invalid_request"),
    ],
)
async def test_a_resume_that_cannot_be_is_refused(
    sessions: Sessions, tones: Tones, message: dict[str, object], code: str
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    heard = await wire.until("end")
    wire.say(type="ack", seq=2)
    wire.say(type="flush")
    await asyncio.sleep(0)
    await wire.cut()
    token = events(heard, "started")[0]["token"]
    wire = Wire(sessions, tones)
    wire.say(type="resume", **({"token": token} | message))
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] == code
    await wire.cut()


async def test_frames_that_were_never_sent_cannot_be_acknowledged(
    sessions: Sessions, tones: Tones
) -> None:
    tones.gate.clear()
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    await wire.until("receipt")
    wire.say(type="ack", seq=5)
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["param"] == "seq"
    await wire.cut()


async def test_streams_that_nobody_hears_make_room_for_new_ones(tones: Tones) -> None:
    sessions = Sessions(max_streams=2)
    for _ in range(5):
        wire = Wire(sessions, tones)
        wire.say(type="start", codec="pcm", input=TEXT)
        await wire.until("end")
        await wire.cut()
        assert len(sessions) <= 2
    tones.gate.clear()
    wire = Wire(sessions, tones)
    for number in (1, 2):
        wire.say(type="start", stream=number, codec="pcm", input=TEXT)
        await wire.until("receipt")
    wire.say(type="start", stream=3, codec="pcm", input=TEXT)
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] == "queue_full"
    await wire.cut()
    sessions.close()


async def test_what_all_streams_hold_is_bounded(tones: Tones) -> None:
    sessions = Sessions(budget_bytes=25_000)
    for _ in range(10):
        wire = Wire(sessions, tones)
        wire.say(type="start", codec="pcm", input=TEXT)
        await wire.until("end")
        await wire.cut()
        assert sessions.held < 25_000 + 12_000
    sessions.close()
    assert sessions.held == 0
