from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import numpy as np
import pytest
import soundfile

from common.audio.ogg import OggWriter
from common.audio.pcm import to_s16
from common.protocol.frames import Codec, Flags, Frame
from common.sessions import Sessions
from common.streaming.conversation import CLOSE_POLICY, MAX_BAD_MESSAGES, MAX_LIVE
from tests.unit.stream.wire import Tones, Wire, events, frames, opus_of, pcm_of, tone

TEXT = "今日特价，新鲜草莓每斤9.9元。"


async def test_a_text_comes_as_pcm_sample_for_sample(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", stream=3, codec="pcm", input=TEXT)
    heard = await wire.until("end")
    assert to_s16(pcm_of(heard)) == to_s16(tone(TEXT))
    assert [frame.seq for frame in frames(heard)] == list(range(len(frames(heard))))
    assert {frame.stream for frame in frames(heard)} == {3}
    assert frames(heard)[-1].flags & Flags.LAST
    await wire.cut()


async def test_timestamps_count_the_samples_before_a_frame(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    before = 0
    for frame in frames(await wire.until("end")):
        assert frame.timestamp == before
        before += len(frame.payload) // 2
    await wire.cut()


async def test_opus_gives_as_many_samples_as_were_spoken(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", input=TEXT)
    heard = await wire.until("end")
    (sound,) = opus_of(heard)
    spoken = tone(TEXT)
    assert sound.size == spoken.size
    # Opus itself shifts a high tone by a part of a sample.
    assert np.corrcoef(sound, spoken)[0, 1] > 0.8
    assert {frame.codec for frame in frames(heard)} == {Codec.OPUS}
    await wire.cut()


async def test_a_stream_says_what_it_speaks_and_how_it_ended(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT, receipt=True)
    heard = await wire.until("end")
    (told,) = events(heard, "receipt")
    assert (told["text"], told["tier"], told["reason"]) == (TEXT, "edge", "it can")
    assert told["receipt"]["spoken"] == "今日特价，新鲜草莓每斤九点九元。"
    assert json.loads(told["provenance"]["AIGC"])["Label"] == "1"
    (end,) = events(heard, "end")
    assert (end["tiers"], end["segments"], end["samples"]) == (["edge"], 1, 5000)
    assert end["frames"] == len(frames(heard))
    await wire.cut()


async def test_sentences_are_spoken_as_they_come(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="opus")
    wire.say(type="text", text="欢迎光临。今日")
    first = await wire.until("spoken")
    wire.say(type="text", text="特价！买一")
    second = await wire.until("spoken")
    wire.say(type="text", text="送一")
    wire.say(type="end")
    rest = await wire.until("end")
    assert tones.spoken == ["欢迎光临。", "今日特价！", "买一送一"]
    sounds = opus_of([*first, *second, *rest])
    assert [sound.size for sound in sounds] == [5000] * 3
    assert [
        told["segment"] for told in events([*first, *second, *rest], "receipt")
    ] == [
        0,
        1,
        2,
    ]
    await wire.cut()


async def test_flush_speaks_what_waits_for_its_stop(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm")
    wire.say(type="text", text="请稍等")
    wire.say(type="flush")
    await wire.until("spoken")
    assert tones.spoken == ["请稍等"]
    await wire.cut()


async def test_punctuation_between_sentences_fails_neither(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm")
    wire.say(type="text", text="一。\n———\n二。\n")
    wire.say(type="end")
    (end,) = events(await wire.until("end"), "end")
    assert end["segments"] == 2
    await wire.cut()


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ({"input": "。。。"}, "nothing_to_say"),
        ({"input": "   "}, "nothing_to_say"),
        ({"input": "x" * 20_001}, "input_too_long"),
        ({"input": TEXT, "voice": "nobody"}, "unknown_voice"),
        ({"input": TEXT, "dialect": "xx"}, "unknown_dialect"),
        ({"input": TEXT, "speed": 9}, "invalid_request"),
        ({"input": TEXT, "codec": "mp3"}, "invalid_request"),
        ({"input": TEXT, "bitrate": 8000}, "invalid_request"),
        ({"input": TEXT, "stream": -1}, "invalid_request"),
        ({"input": TEXT, "stream": True}, "invalid_request"),
    ],
)
async def test_what_cannot_be_spoken_is_an_error_with_its_code(
    sessions: Sessions, tones: Tones, start: dict[str, object], code: str
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", **start)
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] == code
    wire.say(type="start", stream=9, codec="pcm", input=TEXT)
    assert events(await wire.until("end"), "end")[0]["stream"] == 9
    await wire.cut()


async def test_a_voice_that_breaks_ends_its_stream_with_the_reason(
    sessions: Sessions, tones: Tones
) -> None:
    tones.fails_after = 3
    wire = Wire(sessions, tones)
    wire.say(type="start", stream=2, codec="pcm", input=TEXT)
    heard = await wire.until("error")
    assert pcm_of(heard).size == 3000
    assert frames(heard)[-1].flags & Flags.LAST
    error = events(heard, "error")[0]
    assert (error["stream"], error["error"]["code"]) == (2, "voice_unavailable")
    await wire.cut()


async def test_a_stream_without_any_text_says_so(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start")
    wire.say(type="end")
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] == "nothing_to_say"
    await wire.cut()


async def test_cancel_stops_the_work_and_says_what_was_heard(
    sessions: Sessions,
) -> None:
    tones = Tones(chunks=10_000)
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    while not isinstance(await wire.hear(), Frame):
        pass
    wire.say(type="cancel")
    end = events(await wire.until("end"), "end")[0]
    assert end["cancelled"] is True
    assert tones.stopped == 1
    assert tones.made < 10_000
    await wire.cut()


async def test_two_streams_share_a_socket_unmixed(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    texts = {1: "一号窗口", 2: "二号窗口"}
    for number, text in texts.items():
        wire.say(type="start", stream=number, codec="pcm", input=text)
    heard = [*await wire.until("end"), *await wire.until("end")]
    for number, text in texts.items():
        own = [frame for frame in frames(heard) if frame.stream == number]
        assert b"".join(frame.payload for frame in own) == to_s16(tone(text))
    await wire.cut()


async def test_a_number_in_use_and_one_stream_too_many_are_refused(
    sessions: Sessions, tones: Tones
) -> None:
    tones.gate.clear()
    wire = Wire(sessions, tones)
    for number in range(MAX_LIVE):
        wire.say(type="start", stream=number, codec="pcm", input=TEXT)
        await wire.until("started")
    wire.say(type="start", stream=0, codec="pcm", input=TEXT)
    assert events(await wire.until("error"), "error")[0]["error"]["param"] == "stream"
    wire.say(type="start", stream=99, codec="pcm", input=TEXT)
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] == "queue_full"
    await wire.cut()


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[]", "null", '{"type": 1}', '{"type": "shout"}', "[" * 10_000),
        *('{"type": "ack"}', '{"type": "resume"}'),
        '{"type": "ack", "stream": 7, "seq": 0}',
    ],
)
async def test_what_is_no_message_is_answered_and_the_socket_goes_on(
    sessions: Sessions, tones: Tones, text: str
) -> None:
    wire = Wire(sessions, tones)
    wire.say_raw(text)
    error = events(await wire.until("error"), "error")[0]
    assert error["error"]["code"] in ("invalid_request", "not_found")
    assert error["stream"] is None
    wire.say(type="start", codec="pcm", input=TEXT)
    await wire.until("end")
    await wire.cut()


async def test_a_client_that_never_makes_sense_is_sent_away(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    for _ in range(MAX_BAD_MESSAGES + 1):
        wire.say_raw(None, b"noise")
    heard = [await wire.hear() for _ in range(MAX_BAD_MESSAGES + 2)]
    assert heard[-1] == {"type": "websocket.close", "code": CLOSE_POLICY}
    await asyncio.wait_for(wire.task, 20)


async def test_only_a_trusting_server_lets_the_client_name_the_utterance(
    sessions: Sessions, tones: Tones
) -> None:
    name = "ab" * 16
    for is_trusting in (False, True):
        wire = Wire(sessions, tones, takes_utterance=is_trusting)
        wire.say(type="start", codec="pcm", input=TEXT, utterance=name)
        told = events(await wire.until("end"), "receipt")[0]
        assert (told["utterance"] == name) is is_trusting
        await wire.cut()


async def test_a_long_text_is_one_stream_with_its_last_clause(
    sessions: Sessions, tones: Tones
) -> None:
    text = ("好𠮷" * 10_000)[:19_996] + "最后一句"
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=text, on_unreadable="skip", receipt=True)
    # Its receipt alone is more than a stream may hold without an answer.
    heard: list[dict[str, Any] | Frame] = []
    while not events(heard, "end"):
        heard.append(await wire.hear())
        wire.say(type="ack", seq=len(frames(heard)))
    (told,) = events(heard, "receipt")
    assert len(str(told)) > sessions.max_bytes
    assert told["surface"][-4:] == ["zui4", "hou4", "yi2", "ju4"]
    assert tones.spoken == [text]
    await wire.cut()


async def test_text_after_the_end_and_too_much_text_end_the_stream(
    sessions: Sessions, tones: Tones
) -> None:
    tones.gate.clear()
    wire = Wire(sessions, tones)
    wire.say(type="start", stream=1, codec="pcm", input=TEXT)
    wire.say(type="text", stream=1, text="更多")
    error = events(await wire.until("error"), "error")[0]
    assert (error["stream"], error["error"]["code"]) == (1, "invalid_request")
    wire.say(type="start", stream=2, codec="pcm")
    for _ in range(6):
        wire.say(type="text", stream=2, text="长" * 4000)
    error = events(await wire.until("error"), "error")[0]
    assert (error["stream"], error["error"]["code"]) == (2, "input_too_long")
    await wire.cut()


@pytest.mark.parametrize("codec", ["pcm", "opus"])
async def test_a_stream_names_its_rate_before_its_first_sound(
    sessions: Sessions, tones: Tones, codec: str
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec=codec, input=TEXT)
    heard = await wire.until("end")
    (started,) = events(heard, "started")
    assert started["sample_rate"] == 24_000
    assert not frames(heard[: heard.index(started)])
    await wire.cut()


async def test_packets_of_a_stream_are_raw_and_any_player_of_opus_takes_them(
    sessions: Sessions, tones: Tones
) -> None:
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="opus", input=TEXT)
    heard = await wire.until("end")
    packets = [frame.payload for frame in frames(heard)]
    assert not any(packet.startswith(b"OggS") for packet in packets)
    (told,), (spoken,) = events(heard, "receipt"), events(heard, "spoken")
    end = told["pre_skip"] + 2 * spoken["samples"]
    file = OggWriter(told["pre_skip"], ()).write([p for p in packets if p], end)
    sound, rate = soundfile.read(io.BytesIO(file))
    assert sound.size * 24_000 == tone(TEXT).size * rate
    await wire.cut()
