from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
import soundfile

from common.audio.containers import MEDIA_TYPES, read_provenance
from common.audio.pcm import SAMPLE_RATE, Pcm, to_s16
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.responses import Answer, speech_answer
from common.speech import Speech, Whole

FORMATS = list(MEDIA_TYPES)
Live = Callable[[Any], Speech]
Cached = Callable[[Pcm], Speech]
Sound = Callable[[int], Pcm]


def asked(response_format: str = "wav", **more: object) -> SpeechRequest:
    return parse_speech(
        {"input": "今日特价", "response_format": response_format, **more}
    )


async def drained(answer: Answer) -> bytes:
    if isinstance(answer.body, bytes):
        return answer.body
    return b"".join([piece async for piece in answer.body])


def events(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Read an event stream strictly."""
    assert body.endswith(b"\n\n")
    found = []
    for block in body.decode("ascii").removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        found.append(
            (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        )
    return found


@pytest.mark.parametrize("name", FORMATS)
async def test_a_live_sound_is_streamed_to_its_end(
    sound: Sound, live: Live, engine: type, name: str
) -> None:
    running = engine(*(sound(4801) for _ in range(5)))
    answer = await speech_answer(asked(name), live(running))
    assert answer.status == 200
    assert answer.media_type == MEDIA_TYPES[name]
    assert answer.headers["X-Yaohe-Utterance"] == "u-17"
    assert answer.headers["X-Yaohe-Tier"] == "edge"
    assert answer.headers["X-Yaohe-Sample-Rate"] == "24000"
    assert "Content-Length" not in answer.headers
    body = await drained(answer)
    assert running.is_stopped
    if name == "pcm":
        assert len(body) == 2 * 5 * 4801
        return
    heard, rate = soundfile.read(io.BytesIO(body))
    assert rate == SAMPLE_RATE
    excess = 2304 if name == "mp3" else 0
    assert 5 * 4801 <= heard.size <= 5 * 4801 + excess


@pytest.mark.parametrize("name", FORMATS)
async def test_a_finished_sound_has_its_true_length(
    sound: Sound, cached: Cached, name: str
) -> None:
    answer = await speech_answer(asked(name), cached(sound(24_003)))
    body = await drained(answer)
    assert answer.headers["Content-Length"] == str(len(body))
    assert answer.headers["ETag"].startswith('"')
    assert answer.headers["X-Yaohe-Tier"] == "cache"
    if name == "wav":
        with wave.open(io.BytesIO(body)) as file:
            assert file.getnframes() == 24_003


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("more", [{}, {"stream_format": "sse"}, {"receipt": True}])
async def test_an_engine_without_sound_never_answers_200(
    live: Live, engine: type, name: str, more: dict[str, object]
) -> None:
    running = engine(np.zeros(0, np.float32))
    with pytest.raises(YaoheError) as refusal:
        await speech_answer(asked(name, **more), live(running))
    assert refusal.value.code == "voice_unavailable"
    assert running.is_stopped


async def test_an_empty_cached_sound_never_answers_200(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(10))
    speech.whole = Whole(0.0, pcm=np.zeros(0, np.float32))
    for name in FORMATS:
        with pytest.raises(YaoheError):
            await speech_answer(asked(name), speech)


async def test_an_error_before_the_first_sound_is_an_error(
    live: Live, engine: type
) -> None:
    running = engine(YaoheError("deadline_exceeded", "too late"))
    with pytest.raises(YaoheError) as refusal:
        await speech_answer(asked(), live(running))
    assert refusal.value.code == "deadline_exceeded"
    assert running.is_stopped


async def test_a_format_without_an_encoder_stops_the_work(
    sound: Sound, live: Live, engine: type
) -> None:
    running = engine(sound(10))
    speech = live(running)
    with pytest.raises(YaoheError) as refusal:
        await speech_answer(asked("aac"), speech)
    assert refusal.value.code == "unsupported_format"
    assert speech.chunks is not None
    assert [chunk async for chunk in speech.chunks] == []


async def test_what_breaks_off_later_breaks_the_connection_off(
    sound: Sound, live: Live, engine: type
) -> None:
    running = engine(sound(4800), RuntimeError("gone"))
    answer = await speech_answer(asked(), live(running))
    with pytest.raises(RuntimeError):
        await drained(answer)
    assert running.is_stopped


async def test_only_the_first_chunk_is_made_before_anyone_reads(
    sound: Sound, live: Live, engine: type
) -> None:
    running = engine(*(sound(4800) for _ in range(5)))
    answer = await speech_answer(asked(), live(running))
    assert running.given == 1
    await answer.aclose()


@pytest.mark.parametrize("more", [{}, {"stream_format": "sse"}])
@pytest.mark.parametrize("read", [0, 1, 2])
async def test_a_client_that_leaves_stops_the_work(
    sound: Sound, live: Live, engine: type, more: dict[str, object], read: int
) -> None:
    running = engine(*(sound(4800) for _ in range(50)))
    answer = await speech_answer(asked("opus", **more), live(running))
    assert isinstance(answer.body, AsyncIterator)
    for _ in range(read):
        assert await answer.body.__anext__()
    await answer.aclose()
    assert running.is_stopped
    assert running.given <= read + 1


@pytest.mark.parametrize("more", [{}, {"stream_format": "sse"}])
async def test_closing_the_body_alone_stops_the_work(
    sound: Sound, live: Live, engine: type, more: dict[str, object]
) -> None:
    running = engine(*(sound(4800) for _ in range(50)))
    answer = await speech_answer(asked("wav", **more), live(running))
    assert isinstance(answer.body, AsyncGenerator)
    await answer.body.__anext__()
    await answer.body.aclose()
    assert running.is_stopped


async def test_cancelling_the_reader_stops_the_work(sound: Sound, live: Live) -> None:
    class Endless:
        is_stopped = False

        async def run(self) -> AsyncIterator[Pcm]:
            try:
                while True:
                    yield sound(480)
                    await asyncio.sleep(0)
            finally:
                self.is_stopped = True

    running = Endless()
    answer = await speech_answer(asked("pcm"), live(running))
    reading = asyncio.create_task(drained(answer))
    await asyncio.sleep(0.02)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await answer.aclose()
    assert running.is_stopped


async def test_head_has_the_headers_and_no_work(
    sound: Sound, live: Live, cached: Cached, engine: type
) -> None:
    whole = await speech_answer(asked(), cached(sound(2400)))
    head = await whole.head()
    assert (head.body, head.headers) == (b"", whole.headers)
    running = engine(sound(10), sound(10))
    head = await (await speech_answer(asked(), live(running))).head()
    assert head.body == b""
    assert running.is_stopped


async def test_one_range_is_answered_with_206(sound: Sound, cached: Cached) -> None:
    speech = cached(sound(2400))
    full = await drained(await speech_answer(asked(), speech))
    part = await speech_answer(asked(), speech, range_header="bytes=40-99")
    assert part.status == 206
    assert part.headers["Content-Range"] == f"bytes 40-99/{len(full)}"
    assert part.headers["Content-Length"] == "60"
    assert part.body == full[40:100]
    tail = await speech_answer(asked(), speech, range_header="bytes=-7")
    assert tail.body == full[-7:]


async def test_a_range_outside_is_answered_with_416(
    sound: Sound, cached: Cached
) -> None:
    answer = await speech_answer(
        asked("pcm"), cached(sound(100)), range_header="bytes=200-"
    )
    assert answer.status == 416
    assert answer.headers["Content-Range"] == "bytes */200"
    assert answer.body == b""


async def test_a_range_of_other_bytes_gets_the_whole(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(100))
    answer = await speech_answer(
        asked(), speech, range_header="bytes=5-", if_range='"old"'
    )
    assert answer.status == 200
    again = await speech_answer(
        asked(), speech, range_header="bytes=5-", if_range=answer.headers["ETag"]
    )
    assert again.status == 206


async def test_a_client_that_has_the_bytes_gets_304(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(2400))
    for name in FORMATS:
        first = await speech_answer(asked(name), speech, cacheable=True)
        tag = first.headers["ETag"]
        second = await speech_answer(
            asked(name), speech, if_none_match=tag, cacheable=True
        )
        assert (second.status, second.body) == (304, b"")
        assert second.headers["ETag"] == tag
        assert "Content-Length" not in second.headers


async def test_only_a_get_may_be_kept(sound: Sound, cached: Cached) -> None:
    post = await speech_answer(asked(), cached(sound(100)))
    assert post.headers["Cache-Control"] == "no-store"
    get = await speech_answer(asked(), cached(sound(100)), cacheable=True)
    assert get.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("name", FORMATS)
async def test_events_carry_the_file_and_then_the_usage(
    sound: Sound, live: Live, engine: type, name: str
) -> None:
    chunks = [sound(4800) for _ in range(5)]
    request = asked(name, stream_format="sse")
    answer = await speech_answer(request, live(engine(*chunks)))
    assert answer.media_type == "text/event-stream"
    *deltas, (last, done) = events(await drained(answer))
    assert {kind for kind, _ in deltas} == {"speech.audio.delta"}
    assert all(kind == delta["type"] for kind, delta in deltas)
    audio = b"".join(base64.b64decode(delta["audio"]) for _, delta in deltas)
    plain = await speech_answer(asked(name), live(engine(*chunks)))
    assert audio == await drained(plain)
    assert last == done["type"] == "speech.audio.done"
    usage = done["usage"]
    assert usage["output_tokens"] == 50
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert "receipt" not in done


async def test_events_of_a_finished_sound_carry_the_same_file(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(48_000))
    answer = await speech_answer(asked(stream_format="sse", receipt=True), speech)
    *deltas, (_, done) = events(await drained(answer))
    assert len(deltas) > 1
    audio = b"".join(base64.b64decode(delta["audio"]) for _, delta in deltas)
    assert audio == await drained(await speech_answer(asked(), speech))
    assert done["receipt"] == speech.receipt.as_dict()


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (YaoheError("voice_unavailable", "worker lost"), "voice_unavailable"),
        (RuntimeError("secret path"), "internal_error"),
    ],
)
async def test_events_say_why_a_sound_broke_off(
    sound: Sound, live: Live, engine: type, failure: Exception, code: str
) -> None:
    running = engine(sound(4800), failure)
    answer = await speech_answer(asked(stream_format="sse"), live(running))
    body = await drained(answer)
    kind, values = events(body)[-1]
    assert (kind, values["error"]["code"]) == ("error", code)
    assert b"secret" not in body
    assert running.is_stopped


@pytest.mark.parametrize("is_live", [True, False])
async def test_a_receipt_comes_with_its_sound(
    sound: Sound, live: Live, cached: Cached, engine: type, is_live: bool
) -> None:
    pcm = sound(24_000)
    speech = live(engine(pcm[:9000], pcm[9000:])) if is_live else cached(pcm)
    answer = await speech_answer(asked("flac", receipt=True), speech)
    assert answer.media_type == "application/json"
    values = json.loads(await drained(answer))
    assert values["receipt"] == speech.receipt.as_dict()
    assert values["format"] == "flac"
    assert values["duration_ms"] == 1000
    heard, _ = soundfile.read(io.BytesIO(base64.b64decode(values["audio"])))
    assert heard.size == 24_000


async def test_headers_are_one_line_of_ascii_whatever_a_reason_says(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(100))
    speech.reason = "缓存\r\nX-Evil: 1 \ud800" + "x" * 500
    speech.substituted = "zh"
    answer = await speech_answer(asked(), speech)
    assert answer.headers["X-Yaohe-Substituted"] == "zh"
    reason = answer.headers["X-Yaohe-Reason"]
    assert reason.isascii()
    assert reason.isprintable()


async def test_a_finished_sound_keeps_the_id_it_was_made_with(
    sound: Sound, cached: Cached
) -> None:
    speech = cached(sound(2400))
    told = speech.provenance
    assert speech.whole is not None
    speech.provenance = type(told)("packed", told.pack, told.pack_sha256, True, 1, 3)
    body = await drained(await speech_answer(asked("mp3"), speech))
    read = read_provenance(body)
    assert read is not None
    assert read.label.produce_id == told.label.produce_id


async def test_a_sound_without_an_id_gets_one_of_its_own(
    sound: Sound, live: Live, engine: type
) -> None:
    speech = live(engine(sound(2400)))
    speech.provenance = type(speech.provenance)("packed")
    read = read_provenance(await drained(await speech_answer(asked(), speech)))
    assert read is not None
    assert read.label.produce_id == "u-17"
    speech.chunks, speech.whole = None, Whole(0.1, pcm=sound(2400))
    bodies = [await drained(await speech_answer(asked(), speech)) for _ in range(2)]
    assert bodies[0] == bodies[1]
    kept = read_provenance(bodies[0])
    assert kept is not None
    assert len(kept.label.produce_id) == 32


async def test_a_cached_pcm_answer_is_the_streamed_one(
    sound: Sound, live: Live, cached: Cached, engine: type
) -> None:
    pcm = sound(9000)
    speech = cached(pcm)
    speech.whole = Whole(pcm.size / SAMPLE_RATE, pcm=pcm)
    streamed = await drained(await speech_answer(asked("pcm"), live(engine(pcm))))
    kept = await drained(await speech_answer(asked("pcm"), speech))
    assert kept == streamed == to_s16(pcm)
