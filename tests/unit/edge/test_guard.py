"""A box with a token speaks for those who show it, and for nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from edge.api.app import create_app
from edge.packs import Packs
from edge.service import Service
from edge.settings import EdgeSettings, HttpSettings
from tests.unit.edge.tiny import TinyVoice, pack

TOKEN = "令牌 of the shop"
SPEECH = "/v1/audio/speech"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = EdgeSettings(
        data=tmp_path / "box", http=HttpSettings.model_validate({"token": TOKEN})
    )
    app = create_app(Service(settings, packs=Packs([pack(TinyVoice())], None)))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://box") as client,
    ):
        yield client


@pytest.mark.parametrize("token", [None, "", "Bearer", "令牌 of the sho", "\ud83d"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_without_the_token_nobody_makes_it_speak(
    client: httpx.AsyncClient, method: str, token: str | None
) -> None:
    query = {"input": "你好"}
    if token is not None:
        query["token"] = token.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )
    answer = await client.request(method, SPEECH, params=query, json={"input": "你好"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    if method != "HEAD":
        assert answer.json()["error"]["code"] == "unauthorized"


async def test_what_was_said_is_not_told_either(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/receipts/any")).status_code == 401


async def test_the_token_goes_into_the_header_or_into_the_address(
    client: httpx.AsyncClient,
) -> None:
    by_address = await client.get(SPEECH, params={"input": "你好", "token": TOKEN})
    header = httpx.Headers({b"Authorization": b"bearer " + TOKEN.encode()})
    by_header = await client.post(SPEECH, json={"input": "你好"}, headers=header)
    assert (by_address.status_code, by_header.status_code) == (200, 200)
    receipt = f"/v1/receipts/{by_header.headers['X-Yaohe-Utterance']}"
    assert (await client.get(receipt, headers=header)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/status", "/player"])
async def test_how_the_box_is_stays_open(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 200


def test_the_token_shows_in_no_log(tmp_path: Path) -> None:
    settings = HttpSettings.model_validate({"token": TOKEN})
    assert TOKEN not in repr(settings)
