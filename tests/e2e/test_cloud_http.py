"""A real cloud answers the speech calls as its clients expect."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import soundfile

from common.audio.containers import read_provenance
from common.audio.opus import OpusMaster
from common.voice.pack import starter_directory
from tests.e2e.clouds import Cloud, running_cloud

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
LONG = "欢迎光临，今天天气很好，请保管好随身物品，谢谢您的配合。" * 100
SPEECH = "/v1/audio/speech"
FORMATS = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg; codecs=opus",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm;rate=24000;channels=1",
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(tmp_path_factory.mktemp("cloud")) as running:
        yield running


@pytest.fixture
def client(cloud: Cloud) -> Iterator[httpx.Client]:
    with cloud.client() as client:
        yield client


def post(client: httpx.Client, text: str = TEXT, **values: object) -> httpx.Response:
    return client.post(SPEECH, json={"input": text, **values})


def metric(client: httpx.Client, name: str) -> float:
    for line in client.get("/metrics").text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no metric {name}")


def seconds(kind: str, data: bytes) -> float:
    if kind == "pcm":
        return len(data) / 48_000
    if kind == "opus":
        return OpusMaster.from_bytes(data).duration_s
    return float(soundfile.info(io.BytesIO(data)).duration)


def sizes_and_samples(answer: httpx.Response) -> tuple[bytes, bytes]:
    """The size that a WAV file gives of its samples, and all from them on."""
    at = answer.content.index(b"data")
    return answer.content[at + 4 : at + 8], answer.content[at + 8 :]


@pytest.mark.parametrize(("kind", "media_type"), FORMATS.items())
def test_every_format_streams_first_and_is_whole_from_memory(
    client: httpx.Client, kind: str, media_type: str
) -> None:
    text = f"{kind.upper()}号，{TEXT}"
    first = post(client, text, response_format=kind)
    again = post(client, text, response_format=kind)
    assert [first.headers["x-yaohe-tier"], again.headers["x-yaohe-tier"]] == [
        "cloud",
        "cache",
    ]
    for answer in (first, again):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media_type
        assert len(answer.headers["x-yaohe-utterance"]) == 32
    assert "content-length" not in first.headers
    assert int(again.headers["content-length"]) == len(again.content)
    if kind == "wav":
        # A stream does not know its length; a finished sound does.
        assert first.content[4:8] == sizes_and_samples(first)[0] == b"\xff" * 4
        size, samples = sizes_and_samples(again)
        true_size = int.from_bytes(size, "little")
        assert sizes_and_samples(first)[1] == samples[:true_size]
    else:
        assert seconds(kind, first.content) == pytest.approx(
            seconds(kind, again.content), abs=0.15
        )
    assert seconds(kind, again.content) > 0.5


def test_mp3_is_the_default_as_clients_expect(client: httpx.Client) -> None:
    assert post(client).headers["content-type"] == "audio/mpeg"


def test_the_sound_says_where_it_comes_from(client: httpx.Client) -> None:
    origin = read_provenance(post(client, response_format="flac").content)
    assert origin is not None
    assert origin.engine == "packed"
    assert origin.verified
    assert len(origin.pack_sha256) == 64
    assert origin.label.label == "1"


def test_a_get_answers_devices_that_only_know_addresses(client: httpx.Client) -> None:
    query = {"input": TEXT, "response_format": "wav", "speed": "1.25"}
    client.get(SPEECH, params=query)
    whole = client.get(SPEECH, params=query)
    tag = whole.headers["etag"]
    part = client.get(SPEECH, params=query, headers={"Range": "bytes=44-1043"})
    assert part.status_code == 206
    assert part.content == whole.content[44:1044]
    known = client.get(SPEECH, params=query, headers={"If-None-Match": tag})
    assert (known.status_code, known.content) == (304, b"")
    beyond = client.get(SPEECH, params=query, headers={"Range": "bytes=99999999-"})
    assert beyond.status_code == 416
    head = client.head(SPEECH, params=query)
    assert head.headers["content-length"] == str(len(whole.content))
    assert head.content == b""


def test_a_page_of_another_origin_may_read_the_answer(client: httpx.Client) -> None:
    answer = client.get(
        SPEECH, params={"input": "一号"}, headers={"Origin": "http://signage.example"}
    )
    assert answer.headers["access-control-allow-origin"] == "*"
    exposed = set(answer.headers["access-control-expose-headers"].lower().split(", "))
    assert exposed >= {n for n in answer.headers if n.startswith("x-yaohe-")}
    assert exposed >= {"etag", "accept-ranges", "content-range"}


def test_events_carry_sound_and_usage(client: httpx.Client) -> None:
    answer = post(client, "二号窗口", response_format="pcm", stream_format="sse")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [
        json.loads(line[6:])
        for line in answer.text.splitlines()
        if line.startswith("data: ")
    ]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "speech.audio.done"
    assert set(kinds[:-1]) == {"speech.audio.delta"}
    assert "usage" in events[-1]
    sound = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert len(sound) > 2000


def test_the_receipt_comes_inline_or_afterwards(client: httpx.Client) -> None:
    inline = post(client, "9.9元", receipt=True).json()
    assert inline["receipt"]["enforced"]
    assert base64.b64decode(inline["audio"])
    later = client.get(f"/v1/receipts/{inline['utterance']}").json()
    assert later == inline["receipt"]
    assert later["text"] == "9.9元"
    assert later["unread"] == []


BAD = {
    "empty": ({"input": ""}, 400, "nothing_to_say"),
    "blank": ({"input": " \n\t　"}, 400, "nothing_to_say"),
    "punctuation": ({"input": "。！？……"}, 400, "nothing_to_say"),
    "emoji": ({"input": "😀🎉"}, 400, "nothing_to_say"),
    "long": ({"input": "好" * 4097}, 400, "input_too_long"),
    "endless": ({"input": "好" * 100_000}, 400, "input_too_long"),
    "private use": ({"input": "价\ue000格"}, 422, "unreadable_text"),
    "no input": ({}, 400, "invalid_request"),
    "number": ({"input": 5}, 400, "invalid_request"),
    "list": ({"input": ["好"]}, 400, "invalid_request"),
    "object": ({"input": {"a": 1}}, 400, "invalid_request"),
    "null": ({"input": None}, 400, "invalid_request"),
    "voice": ({"input": "好", "voice": "nobody"}, 404, "unknown_voice"),
    "voice kind": ({"input": "好", "voice": 5}, 400, "invalid_request"),
    "voice object": ({"input": "好", "voice": {"id": "x"}}, 404, "unknown_voice"),
    "model": ({"input": "好", "model": "other"}, 404, "not_found"),
    "dialect": ({"input": "好", "dialect": "xx"}, 404, "unknown_dialect"),
    "format": ({"input": "好", "response_format": "ogg"}, 400, "unsupported_format"),
    "aac": ({"input": "好", "response_format": "aac"}, 400, "unsupported_format"),
    "format kind": ({"input": "好", "response_format": 1}, 400, "invalid_request"),
    "speed": ({"input": "好", "speed": 9}, 400, "invalid_request"),
    "speed nan": ({"input": "好", "speed": float("nan")}, 400, "invalid_request"),
    "speed kind": ({"input": "好", "speed": "fast"}, 400, "invalid_request"),
    "deadline": ({"input": "好", "deadline_ms": 0}, 400, "invalid_request"),
    "seed": ({"input": "好", "seed": -1}, 400, "invalid_request"),
    "stream": ({"input": "好", "stream_format": "x"}, 400, "invalid_request"),
}


@pytest.mark.parametrize(("values", "status", "code"), BAD.values(), ids=BAD)
def test_bad_values_have_stable_codes(
    client: httpx.Client, values: dict[str, object], status: int, code: str
) -> None:
    answer = client.post(
        SPEECH,
        content=json.dumps(values),
        headers={"Content-Type": "application/json"},
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert set(error) >= {"message", "type", "param", "code"}
    assert answer.headers["x-yaohe-utterance"]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe\x00", b"[" * 100_000, b"x" * 2_000_000],
    ids=lambda raw: repr(raw[:8]),
)
def test_bad_bodies_are_invalid_requests(client: httpx.Client, raw: bytes) -> None:
    answer = client.post(SPEECH, content=raw)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request"


def test_half_an_emoji_is_refused_and_never_a_failure_of_ours(
    client: httpx.Client,
) -> None:
    answer = client.post(SPEECH, content=b'{"input": "\\ud83d"}')
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "unreadable_text"


def test_control_characters_never_break_the_service(client: httpx.Client) -> None:
    text = "".join(map(chr, [*range(1, 32), 127, 0x200B, 0x202E, 0xFEFF])) + "一号"
    answer = post(client, text, on_unreadable="skip")
    assert answer.status_code == 200
    assert answer.content


def test_unreadable_text_says_what_and_speaks_without_it_when_asked(
    client: httpx.Client,
) -> None:
    refusal = post(client, "价格\ue000九元").json()["error"]
    assert refusal["data"]["unread"][0]["text"] == "\ue000"
    answer = post(client, "价格\ue000九元", on_unreadable="skip")
    assert answer.status_code == 200


def test_a_cloud_without_further_words_speaks_three_dialects(
    client: httpx.Client,
) -> None:
    sounds = set()
    for dialect in ("zh", "gd", "sc"):
        answer = post(client, "今日特价", dialect=dialect, response_format="pcm")
        assert answer.status_code == 200
        assert "x-yaohe-substituted" not in answer.headers
        sounds.add(answer.content)
    assert len(sounds) == 3


def test_mandarin_stands_in_only_when_asked(tmp_path: Path) -> None:
    own = [f"--pack={starter_directory()}", "--unsigned"]
    with running_cloud(tmp_path, *own) as cloud, cloud.client() as client:
        refused = post(client, "今日特价", dialect="gd")
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (503, "voice_unavailable")
        answer = post(client, "今日特价", dialect="gd", fallback="mandarin")
    assert answer.status_code == 200
    assert answer.headers["x-yaohe-substituted"] == "zh"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("DELETE", SPEECH, 405, "method_not_allowed"),
        ("GET", "/v1/receipts/none", 404, "not_found"),
        ("GET", "/v1/models/none", 404, "not_found"),
    ],
)
def test_other_failures_have_the_same_shape(
    client: httpx.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_models_and_voices_are_listed(client: httpx.Client) -> None:
    assert [model["id"] for model in client.get("/v1/models").json()["data"]] == [
        "yaohe"
    ]
    voices = client.get("/v1/audio/voices").json()["data"]
    assert {"id": "woman", "dialects": ["zh", "gd", "sc"]}.items() <= voices[0].items()


def test_health_and_metrics_answer(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["engine"] == "packed"
    assert metric(client, "tts_queue_length") == 0
    text = client.get("/metrics").text
    helps = [line for line in text.splitlines() if line.startswith("# HELP")]
    assert all(len(line.split(" ", 3)[3]) > 10 for line in helps)


def test_a_client_that_leaves_stops_the_work(client: httpx.Client) -> None:
    post(client, "欢迎光临。")  # so that every counter is there
    before = metric(client, "yaohe_cloud_stopped_total")
    made = metric(client, 'yaohe_cloud_audio_seconds_total{engine="packed"}')
    values = {"input": LONG, "response_format": "pcm"}
    with client.stream("POST", SPEECH, json=values) as answer:
        next(answer.iter_raw())
    until = time.monotonic() + 30
    while metric(client, "yaohe_cloud_stopped_total") == before:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert metric(client, "yaohe_cloud_slots_busy_count") == 0
    assert metric(client, 'yaohe_cloud_audio_seconds_total{engine="packed"}') == made


def test_the_longest_text_is_spoken_to_its_end(client: httpx.Client) -> None:
    answer = post(client, LONG[:600], response_format="pcm", speed=4)
    assert seconds("pcm", answer.content) > 15


def test_a_cloud_that_is_told_to_stop_ends_well(tmp_path: Path) -> None:
    with running_cloud(tmp_path) as cloud:
        assert cloud.stop() in (0, -15)
