"""A real box answers the speech calls as its clients expect."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import soundfile

from common.audio.containers import read_provenance
from common.audio.opus import OpusMaster
from tests.e2e.boxes import TIMEOUT_S, Box, metric, running_box

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
SPEECH = "/v1/audio/speech"
FORMATS = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with running_box(tmp_path_factory.mktemp("speech")) as running:
        yield running


@pytest.fixture
def client(box: Box) -> Iterator[httpx.Client]:
    with box.client() as client:
        yield client


def post(client: httpx.Client, text: str = TEXT, **values: object) -> httpx.Response:
    return client.post(SPEECH, json={"input": text, **values})


def seconds(kind: str, data: bytes) -> float:
    if kind == "pcm":
        return len(data) / 48_000
    if kind == "opus":
        return OpusMaster.from_bytes(data).duration_s
    return float(soundfile.info(io.BytesIO(data)).duration)


def kept(client: httpx.Client, text: str) -> httpx.Response:
    """Ask until the answer comes from the cache."""
    for _ in range(400):
        answer = post(client, text, response_format="opus")
        if answer.headers["X-Yaohe-Tier"] == "cache":
            return answer
    raise AssertionError("it was never kept")


@pytest.mark.parametrize("kind", FORMATS)
def test_streamed_and_cached_speech_sound_as_long_in_every_format(
    client: httpx.Client, kind: str
) -> None:
    text = f"格式{list(FORMATS).index(kind)}号：{TEXT}"
    live = post(client, text, response_format=kind)
    assert (live.status_code, live.headers["X-Yaohe-Tier"]) == (200, "edge")
    assert live.headers["content-type"].startswith(FORMATS[kind])
    kept(client, text)
    again = post(client, text, response_format=kind)
    assert again.headers["X-Yaohe-Tier"] == "cache"
    assert int(again.headers["Content-Length"]) == len(again.content)
    length = seconds(kind, again.content)
    assert length > 0.2
    if kind != "wav":
        # A streamed mp3 cannot say how much of its first and last frame is padding.
        padding = 0.15 if kind == "mp3" else 0.04
        assert abs(seconds(kind, live.content) - length) <= padding
    if kind != "pcm":
        provenance = read_provenance(again.content)
        assert provenance is not None
        assert provenance.engine == "packed"


def test_a_streamed_wav_has_one_header_and_a_cached_one_true_sizes(
    client: httpx.Client,
) -> None:
    text = "一号。二号！三号？四号。"
    live = post(client, text, response_format="wav").content
    assert live.count(b"RIFF") == 1
    assert live[4:8] == b"\xff\xff\xff\xff"
    kept(client, text)
    with wave.open(io.BytesIO(post(client, text, response_format="wav").content)) as f:
        assert len(f.readframes(f.getnframes())) == f.getnframes() * 2
        assert f.getnframes() > 0


def test_mp3_is_the_default_and_the_voice_may_be_openais(client: httpx.Client) -> None:
    answer = post(client, model="tts-1", voice="alloy")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "audio/mpeg"
    assert post(client, voice={"id": "nova"}).status_code == 200


def test_events_carry_the_sound_and_its_receipt(client: httpx.Client) -> None:
    answer = post(client, response_format="pcm", stream_format="sse", receipt=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: {")
    ]
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
    assert events[-1]["type"] == "speech.audio.done"
    assert "usage" in events[-1]
    assert b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert "九点九" in json.dumps(events[-1], ensure_ascii=False)


def test_a_receipt_comes_along_or_is_asked_for_later(client: httpx.Client) -> None:
    inline = post(client, receipt=True, response_format="wav").json()
    assert inline["receipt"]["spoken"].startswith("今日特价")
    later = client.get(f"/v1/receipts/{inline['utterance']}").json()
    assert later["spoken"] == inline["receipt"]["spoken"]
    assert later["tier"] in ("edge", "cache")
    assert later["enforced"] is True
    assert client.get("/v1/receipts/nothing").status_code == 404


def test_a_device_that_only_knows_addresses_is_served(client: httpx.Client) -> None:
    kept(client, TEXT)
    query = {"input": TEXT, "response_format": "wav", "speaker": "zh"}
    whole = client.get(SPEECH, params=query)
    assert whole.status_code == 200
    part = client.get(SPEECH, params=query, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole.content[10:20])
    beyond = client.get(SPEECH, params=query, headers={"Range": "bytes=99999999-"})
    assert beyond.status_code == 416
    known = {"If-None-Match": whole.headers["ETag"]}
    assert client.get(SPEECH, params=query, headers=known).status_code == 304
    head = client.head(SPEECH, params=query)
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]


def test_a_page_of_another_origin_may_listen_and_not_post(
    client: httpx.Client,
) -> None:
    origin = {"Origin": "http://screen.shop"}
    heard = client.get(SPEECH, params={"input": "你好"}, headers=origin)
    assert heard.headers["Access-Control-Allow-Origin"] == "*"
    exposed = set(heard.headers["Access-Control-Expose-Headers"].lower().split(", "))
    assert exposed >= {n for n in heard.headers if n.startswith("x-yaohe-")}
    assert exposed >= {"etag", "accept-ranges", "content-range"}
    asking = {**origin, "Access-Control-Request-Method": "POST"}
    asked = client.options(SPEECH, headers=asking)
    assert "POST" not in asked.headers.get("Access-Control-Allow-Methods", "")
    assert asked.status_code == 400


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"input": ""}, 400, "nothing_to_say"),
        ({"input": " \n\t"}, 400, "nothing_to_say"),
        ({"input": "！？……"}, 400, "nothing_to_say"),
        ({"input": "🔥✅"}, 400, "nothing_to_say"),
        ({"input": "\x00\x07"}, 400, "nothing_to_say"),
        ({"input": "好" * 100_000}, 400, "input_too_long"),
        ({"input": "好" * 25_000}, 400, "input_too_long"),
        ({"input": "ก"}, 422, "unreadable_text"),
        ({}, 400, "invalid_request"),
        ({"input": 5}, 400, "invalid_request"),
        ({"input": ["好"]}, 400, "invalid_request"),
        ({"input": None}, 400, "invalid_request"),
        ({"input": "好", "voice": "nobody"}, 404, "unknown_voice"),
        ({"input": "好", "voice": 7}, 400, "invalid_request"),
        ({"input": "好", "dialect": "xx"}, 404, "unknown_dialect"),
        ({"input": "好", "model": "other"}, 404, "not_found"),
        ({"input": "好", "response_format": "aac"}, 400, "unsupported_format"),
        ({"input": "好", "response_format": "ogg"}, 400, "unsupported_format"),
        ({"input": "好", "speed": 9}, 400, "invalid_request"),
        ({"input": "好", "speed": "fast"}, 400, "invalid_request"),
        ({"input": "好", "stream_format": "tape"}, 400, "invalid_request"),
        ({"input": "好", "deadline_ms": -1}, 400, "invalid_request"),
    ],
)
def test_bad_input_has_its_code(
    client: httpx.Client, values: dict[str, object], status: int, code: str
) -> None:
    answer = client.post(SPEECH, json=values)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["message"]
    assert set(error) >= {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'"text"',
        b"null",
        b'{"input": "\\ud83d"',
        b"[" * 100_000,
        b'{"input": NaN}',
        b'{"input": "' + b"a" * (2 * MIB) + b'"}',
    ],
)
def test_a_body_that_is_no_request_is_refused(
    client: httpx.Client, body: bytes
) -> None:
    answer = client.post(SPEECH, content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request"


def test_half_a_surrogate_pair_is_no_server_error(client: httpx.Client) -> None:
    answer = client.post(SPEECH, content=b'{"input": "\\ud83d\\u4f60\\u597d"}')
    assert answer.status_code in (200, 422)


def test_unknown_fields_are_ignored(client: httpx.Client) -> None:
    assert post(client, "你好", frills={"a": [1]}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("DELETE", SPEECH, 405, "method_not_allowed"),
        ("GET", SPEECH, 400, "invalid_request"),
        ("GET", "/v1/models/other", 404, "not_found"),
        ("GET", "/v1/reading?dialect=xx&text=a", 404, "unknown_dialect"),
        ("GET", "/../../etc/passwd", 404, "not_found"),
    ],
)
def test_every_failure_has_the_same_shape(
    client: httpx.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_unreadable_text_shows_what_and_may_be_skipped(client: httpx.Client) -> None:
    refused = post(client, "ก特价").json()["error"]
    assert "ก" in json.dumps(refused, ensure_ascii=False)
    spoken = post(client, "ก特价", on_unreadable="skip")
    assert spoken.status_code == 200
    receipt = client.get(f"/v1/receipts/{spoken.headers['X-Yaohe-Utterance']}").json()
    assert receipt["unread"][0]["text"] == "ก"


def test_what_stands_in_is_declared(client: httpx.Client) -> None:
    man = post(client, "男声", voice="man")
    assert man.headers["X-Yaohe-Substituted"] == "woman"
    assert man.headers["X-Yaohe-Tier"] == "last-resort"
    other = post(client, "你好", voice="man", dialect="gd")
    assert other.headers["X-Yaohe-Substituted"] == "woman"


@pytest.mark.parametrize("name", ["dialect", "speaker"])
def test_a_dialect_that_is_there_is_spoken_and_nothing_stands_in(
    client: httpx.Client, name: str
) -> None:
    query = {"input": f"{name}，你好", "response_format": "pcm"}
    sounds = set()
    for dialect in ("zh", "gd", "sc"):
        answer = client.get(SPEECH, params={**query, name: dialect})
        assert answer.status_code == 200
        assert "X-Yaohe-Substituted" not in answer.headers
        sounds.add(answer.content)
    assert len(sounds) == 3


def test_long_text_without_a_stop_is_spoken_to_its_end(client: httpx.Client) -> None:
    short = len(post(client, "新鲜草莓" * 10, response_format="pcm").content)
    long = post(client, "新鲜草莓" * 150, response_format="pcm")
    assert long.status_code == 200
    assert len(long.content) > 10 * short


def test_lists_name_what_can_be_asked_for(client: httpx.Client) -> None:
    assert client.get("/v1/models").json()["data"][0]["id"] == "yaohe"
    assert client.get("/v1/models/yaohe").json()["id"] == "yaohe"
    voices = client.get("/v1/audio/voices").json()["data"]
    assert voices[0]["id"] == "woman"
    assert "zh" in voices[0]["dialects"]


def test_health_and_numbers(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["status"] == "ready"
    before = metric(client, 'yaohe_edge_utterances_total{tier="edge"}')
    post(client, "数字会变")
    assert metric(client, 'yaohe_edge_utterances_total{tier="edge"}') == before + 1
    client.get("/v1/nothing")
    assert metric(client, 'yaohe_edge_refusals_total{code="not_found"}') >= 1


def test_the_pages_and_what_they_ask_for(client: httpx.Client) -> None:
    for page in ("/", "/reading"):
        answer = client.get(page)
        assert answer.headers["content-type"].startswith("text/html")
        assert "http://" not in answer.text
        assert "https://" not in answer.text
    status = client.get("/v1/status").json()
    assert status["ready"] is True
    assert {check["verdict"] for check in status["checks"]} <= {"ok", "warn"}
    reading = client.get("/v1/reading", params={"text": "9.9元"}).json()
    assert reading["spoken"] == "九点九元"


async def test_two_texts_fifty_times_at_once_are_never_mixed_up(box: Box) -> None:
    texts = ["请零一号顾客取餐", "请零二号顾客到三号窗口取餐"]
    with box.client() as client:
        alone = [post(client, text, response_format="pcm").content for text in texts]
        for text in texts:
            kept(client, text)
        alone += [post(client, text, response_format="pcm").content for text in texts]
    fresh = ["请零三号顾客取餐", "请零四号顾客到五号窗口取餐"]
    limits = httpx.Limits(max_connections=32)
    async with httpx.AsyncClient(
        base_url=box.address, timeout=TIMEOUT_S, limits=limits, trust_env=False
    ) as many:

        async def ask(text: str) -> bytes:
            values = {"input": text, "response_format": "pcm"}
            return (await many.post(SPEECH, json=values)).content

        answers = await asyncio.gather(*(ask(texts[n % 2]) for n in range(100)))
        first = await asyncio.gather(*(ask(fresh[n % 2]) for n in range(100)))
    for number, answer in enumerate(answers):
        assert answer == alone[2 + number % 2]
    lengths = [{len(one) for one in first[side::2]} for side in (0, 1)]
    assert lengths[0].isdisjoint(lengths[1])


def test_memory_stays_small_after_hundreds_of_calls(
    box: Box, client: httpx.Client
) -> None:
    for number in range(60):
        post(client, f"请{number}号顾客取餐", response_format="pcm")
    before = box.memory_bytes
    for number in range(60, 200):
        post(client, f"请{number}号顾客取餐", response_format="pcm")
    assert box.memory_bytes < 350 * MIB
    assert box.memory_bytes - before < 40 * MIB


def test_the_openapi_description_names_the_calls(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"post", "get"} <= set(paths[SPEECH])


def test_a_log_line_per_utterance_names_tier_and_reason(
    client: httpx.Client, box: Box
) -> None:
    utterance = post(client, "日志").headers["X-Yaohe-Utterance"]
    log = Path(f"/proc/{box.process.pid}/fd/2").resolve().read_text("utf-8")
    assert any(utterance in line and "tier=" in line for line in log.splitlines())
