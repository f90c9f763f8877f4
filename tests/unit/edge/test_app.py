from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from edge.api.app import create_app
from edge.packs import Packs
from edge.service import Service
from edge.settings import EdgeSettings
from tests.unit.edge.tiny import TinyVoice, pack

Visit = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    @asynccontextmanager
    async def visiting(packs: Packs | None = None) -> AsyncIterator[httpx.AsyncClient]:
        service = Service(EdgeSettings(data=tmp_path / "box"), packs=packs)
        app = create_app(service)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://box") as client,
        ):
            await service.loaded()
            yield client

    return visiting


def tiny() -> Packs:
    return Packs([pack(TinyVoice())], None)


async def test_what_nobody_foresaw_is_an_error_that_tells_nothing(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(service: Service) -> bytes:
        raise RuntimeError("a secret of the house")

    monkeypatch.setattr(Service, "exposition", broken)
    async with visit(tiny()) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert "secret" not in answer.text


async def test_a_box_without_any_voice_is_alive_and_says_why_it_cannot_speak(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge.packs.starter_directory", lambda: tmp_path / "nowhere")
    async with visit() as client:
        for path in ("/healthz", "/readyz"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (
                503,
                "not_ready",
            )
        refused = await client.post("/v1/audio/speech", json={"input": "你好"})
        assert refused.json()["error"]["code"] == "voice_unavailable"
        assert (await client.get("/v1/status")).json()["failure"]
        assert (await client.get("/")).status_code == 200


async def test_an_active_pack_without_a_signature_leaves_the_starter_speaking(
    tmp_path: Path,
) -> None:
    from common.voice.pack import starter_directory

    settings = EdgeSettings(data=tmp_path / "box", pack=starter_directory())
    service = Service(settings)
    await service.start()
    await service.loaded()
    assert service.is_ready or service.failure is None
    starter, dialects = service.packs.starter, service.packs.dialects
    assert service.packs.loaded == (starter, *dialects)
    await service.stop()


async def test_a_request_before_the_voice_is_loaded_waits_for_it(visit: Visit) -> None:
    async with visit(tiny()) as client:
        answer = await client.post(
            "/v1/audio/speech", json={"input": "你好", "response_format": "pcm"}
        )
    assert (answer.status_code, len(answer.content)) == (200, 24_000)


async def test_a_voice_that_breaks_midway_never_ends_the_answer_well(
    tmp_path: Path,
) -> None:
    broken = Packs([pack(TinyVoice(fails_at=2))], None)
    app = create_app(Service(EdgeSettings(data=tmp_path / "box"), packs=broken))
    sent: list[MutableMapping[str, Any]] = []
    asked = [{"type": "http.request", "body": b""}]

    async def receive() -> MutableMapping[str, Any]:
        if asked:
            return asked.pop()
        return await asyncio.Future()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/v1/audio/speech",
        "query_string": b"input=hello&response_format=pcm",
        "headers": [],
        "server": ("box", 80),
        "client": ("screen", 1),
    }
    async with app.router.lifespan_context(app):
        with pytest.raises(RuntimeError, match="on purpose"):
            await app(scope, receive, send)
    assert sent[0]["status"] == 200
    assert all(message["more_body"] for message in sent[1:])


PAGES = ("/", "/reading", "/player", "/player.js", "/player.css")


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_answers_head_as_it_answers_get(visit: Visit, path: str) -> None:
    async with visit(tiny()) as client:
        got, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))


@pytest.mark.parametrize("query", ["", "?input=", "?text=", "?text=%20%0A"])
async def test_a_reading_of_nothing_is_refused(visit: Visit, query: str) -> None:
    async with visit(tiny()) as client:
        answer = await client.get(f"/v1/reading{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "nothing_to_say"


async def test_a_reading_takes_the_text_under_the_name_that_speaking_has(
    visit: Visit,
) -> None:
    async with visit(tiny()) as client:
        answer = await client.get("/v1/reading", params={"input": "9.9元"})
    assert answer.json()["spoken"] == "九点九元"


async def test_a_query_that_is_wrong_is_told_in_plain_words(visit: Visit) -> None:
    async with visit(tiny()) as client:
        answer = await client.get("/v1/reading", params={"text": "好", "ssml": "so"})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "ssml")
    assert error["message"] == "ssml: it must be true or false"
