"""The official OpenAI client works against box and cloud, with one host changed."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import openai
import pytest
import soundfile
from openai import OpenAI

from common.audio.opus import OpusMaster
from tests.e2e.boxes import running_box
from tests.e2e.clouds import running_cloud

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
Kind = Literal["mp3", "opus", "flac", "wav", "pcm"]
MAGIC: dict[Kind, tuple[bytes, ...]] = {
    "mp3": (b"\xff", b"ID3"),
    "opus": (b"OggS",),
    "flac": (b"fLaC",),
    "wav": (b"RIFF",),
}


@pytest.fixture(scope="module", params=["box", "cloud"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenAI]:
    running = running_box if request.param == "box" else running_cloud
    with (
        running(tmp_path_factory.mktemp(request.param)) as server,
        OpenAI(base_url=f"{server.address}/v1", api_key="any", max_retries=0) as client,
    ):
        yield client


def test_speech_as_the_documentation_shows_it(client: OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "speech.mp3"
    with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts",
        voice="coral",
        input=TEXT,
        instructions="Speak in a cheerful and positive tone.",
    ) as response:
        response.stream_to_file(path)
    assert soundfile.info(str(path)).duration > 0.5


@pytest.mark.parametrize("kind", ["mp3", "opus", "flac", "wav", "pcm"])
def test_every_format_is_what_it_says(client: OpenAI, kind: Kind) -> None:
    answer = client.audio.speech.create(
        model="tts-1", voice="alloy", input=TEXT, response_format=kind, speed=1.1
    )
    data = answer.content
    if kind in MAGIC:
        assert data.startswith(MAGIC[kind])
    else:
        assert len(data) % 2 == 0
        assert len(data) > 24_000
    if kind == "opus":
        assert OpusMaster.from_bytes(data).duration_s > 0.5
    if kind in ("flac", "mp3"):
        assert soundfile.info(io.BytesIO(data)).duration > 0.5


def test_sound_arrives_in_parts(client: OpenAI) -> None:
    text = "欢迎光临，今天天气很好，请保管好随身物品，谢谢您的配合。" * 8
    with client.audio.speech.with_streaming_response.create(
        model="tts-1-hd", voice="nova", input=text, response_format="pcm"
    ) as response:
        parts = [len(part) for part in response.iter_bytes(2048)]
    assert len(parts) > 4
    assert response.headers["x-yaohe-tier"] in ("edge", "cloud", "cache")


def test_events_arrive_as_the_client_types_them(client: OpenAI) -> None:
    with client.audio.speech.with_streaming_response.create(
        model="tts-1",
        voice="alloy",
        input="二号窗口",
        response_format="pcm",
        stream_format="sse",
    ) as response:
        lines = [line for line in response.iter_lines() if line.startswith("data: ")]
    assert '"speech.audio.delta"' in lines[0]
    assert '"speech.audio.done"' in lines[-1]
    assert base64.b64decode(lines[0].split('"audio":')[1].split('"')[1])


def test_a_voice_may_be_an_object(client: OpenAI) -> None:
    answer = client.audio.speech.create(
        model="tts-1", voice={"id": "woman"}, input="一号"
    )
    assert answer.content


def test_our_own_fields_travel_as_extra_body(client: OpenAI) -> None:
    answer = client.audio.speech.create(
        model="yaohe",
        voice="woman",
        input="价\ue000格",
        extra_body={"on_unreadable": "skip", "dialect": "zh"},
    )
    assert answer.content


def test_models_are_listed(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["yaohe"]
    assert client.models.retrieve("yaohe").owned_by == "yaohe"


@pytest.mark.parametrize(
    ("values", "kind", "code"),
    [
        ({"input": ""}, openai.BadRequestError, "nothing_to_say"),
        ({"input": "好" * 5000}, openai.BadRequestError, "input_too_long"),
        ({"response_format": "aac"}, openai.BadRequestError, "unsupported_format"),
        ({"speed": 11}, openai.BadRequestError, "invalid_request"),
        ({"voice": "nobody"}, openai.NotFoundError, "unknown_voice"),
        ({"input": "\ue000"}, openai.UnprocessableEntityError, "unreadable_text"),
        (
            {"extra_body": {"dialect": "xx"}},
            openai.NotFoundError,
            "unknown_dialect",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_are_the_clients_own_exceptions(
    client: OpenAI,
    values: dict[str, object],
    kind: type[openai.APIStatusError],
    code: str,
) -> None:
    asked: dict[str, object] = {"model": "tts-1", "voice": "alloy", "input": TEXT}
    with pytest.raises(kind) as refusal:
        client.audio.speech.create(**(asked | values))  # type: ignore[arg-type]
    assert refusal.value.code == code
    assert refusal.value.response.headers["x-yaohe-utterance"]
