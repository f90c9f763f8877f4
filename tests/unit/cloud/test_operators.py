"""The operators' page over HTTP: who may, what is listed, what a push leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from cloud.api.app import create_app
from cloud.fleet.office import Office
from cloud.fleet.rendering import Renderer, Wishes
from cloud.fleet.settings import FleetSettings
from cloud.settings import CloudSettings
from common.audio.opus import OpusMaster
from common.protocol.reports import Birth, State
from distill import signing
from tests.lines import hum
from tests.unit.cloud.conftest import ToneEngine

TOKEN = "a-token-of-operators"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TEXT = "<b>今日特价</b>，草莓9.9元。"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain") / "keys"
    signing.keygen(folder)
    return folder


class Desk:
    """A cloud with a fleet, without a broker."""

    def __init__(self, data: Path, keys: Path | None, token: str | None) -> None:
        fleet = FleetSettings(
            enabled=True, operator_token=SecretStr(token) if token else None
        )
        self.app = create_app(ToneEngine(), CloudSettings(data=data, fleet=fleet))
        self.office: Office = self.app.state.office
        if keys is not None:
            self.office.repository.found(keys)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        caller: str = "127.0.0.1",
        base: str = "http://127.0.0.1:8700",
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, client=(caller, 1))
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, headers=headers, **more)

    async def render(self) -> None:
        wishes = Wishes(self.office.db)
        while await Renderer(wishes, self.office.catalogue, hum).render_next():
            pass

    def box(self, name: str, seq: int) -> None:
        """A box that was enrolled and has spoken up."""
        with self.office.db.change() as db:
            db.execute(
                "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
                "VALUES (?, '[]', 1, 2)",
                (name,),
            )
            birth = Birth(up=True, boot="ab", session=1, software="0.1.0")
            self.office.boxes.take_birth(db, name, birth)
            state = State(
                boot="ab", at=9, packs=["starter@1"], phrases=1, catalogue={"all": seq}
            )
            self.office.boxes.take_state(db, name, state)


@pytest.fixture
def desk(tmp_path: Path, keys: Path) -> Desk:
    return Desk(tmp_path, keys, None)


async def test_a_pushed_phrase_is_listed_heard_and_removed(desk: Desk) -> None:
    desk.box("shop-1", 1)
    desk.box("shop-2", 0)
    pushed = await desk.ask("POST", "/v1/fleet/phrases", json={"text": TEXT})
    assert (pushed.status_code, pushed.json()["state"]) == (202, "waiting")
    listed = (await desk.ask("GET", "/v1/fleet/phrases")).json()
    assert [wish["text"] for wish in listed["wishes"]] == [TEXT]
    await desk.render()
    listed = (await desk.ask("GET", "/v1/fleet/phrases")).json()
    assert (listed["wishes"], listed["count"]) == ([], 1)
    phrase = listed["phrases"][0]
    assert (phrase["text"], phrase["boxes"]) == (TEXT, ["shop-1"])
    path = f"/v1/fleet/phrases/{phrase['key']}"
    sound = await desk.ask("GET", f"{path}/sound")
    assert sound.headers["content-type"] == "audio/ogg"
    assert OpusMaster.from_bytes(sound.content).duration_s > 0.5
    assert (await desk.ask("DELETE", f"{path}?scope=g/none")).status_code == 404
    assert (await desk.ask("DELETE", path)).status_code == 204
    assert (await desk.ask("GET", "/v1/fleet/phrases")).json()["phrases"] == []
    assert (await desk.ask("GET", f"{path}/sound")).status_code == 404


async def test_boxes_are_listed_with_what_they_told(desk: Desk) -> None:
    desk.box("shop-1", 3)
    listed = (await desk.ask("GET", "/v1/fleet/boxes")).json()
    box = listed["boxes"][0]
    assert (box["box"], box["is_up"], box["packs"]) == ("shop-1", True, ["starter@1"])
    assert (box["software"], box["catalogue"]) == ("0.1.0", {"all": 3})


REFUSED: list[tuple[object, str]] = [
    ({"text": ""}, "nothing_to_say"),
    ({}, "nothing_to_say"),
    ({"text": 7}, "invalid_request"),
    ({"text": "好", "voice": {"id": "woman"}}, "invalid_request"),
    ({"text": "好", "dialect": "xx"}, "unknown_dialect"),
    ({"text": "好", "scope": "../x"}, "invalid_request"),
    ([], "invalid_request"),
]


async def test_what_cannot_be_pushed_is_refused_by_code(
    desk: Desk,
) -> None:
    for body, code in REFUSED:
        answer = await desk.ask("POST", "/v1/fleet/phrases", json=body)
        assert answer.json()["error"]["code"] == code, body
    assert Wishes(desk.office.db).waiting() == []


async def test_a_key_that_nobody_has_is_not_found(desk: Desk) -> None:
    for key in ("zz", "0" * 32, "0" * 33, "%C3%A9"):
        answer = await desk.ask("DELETE", f"/v1/fleet/phrases/{key}")
        assert answer.json()["error"]["code"] == "not_found"


async def test_a_chain_without_trust_takes_no_phrase(tmp_path: Path) -> None:
    desk = Desk(tmp_path, None, None)
    answer = await desk.ask("POST", "/v1/fleet/phrases", json={"text": "好"})
    assert answer.status_code == 503


CALLS = [
    ("GET", "/v1/fleet/boxes"),
    ("GET", "/v1/fleet/phrases"),
    ("POST", "/v1/fleet/phrases"),
    ("DELETE", f"/v1/fleet/phrases/{'0' * 32}"),
    ("GET", f"/v1/fleet/phrases/{'0' * 32}/sound"),
]


STRANGERS: list[dict[str, Any]] = [
    {"caller": "192.168.1.9"},
    {"base": "http://rebound.example:8700"},
    {"headers": {"Origin": "http://evil.example"}},
    {"headers": {"Origin": "null"}},
    {"headers": {"Origin": "http://127.0.0.1:8701"}},
    {"headers": {"X-Forwarded-For": "127.0.0.1"}},
    {"headers": {"Authorization": "Bearer "}, "caller": "::2"},
]


async def test_without_a_token_only_this_machine_may(desk: Desk) -> None:
    for how in STRANGERS:
        for method, path in CALLS:
            answer = await desk.ask(method, path, **how)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (401, "unauthorized"), how


async def test_this_machine_may_with_its_own_page(desk: Desk) -> None:
    own = {"Origin": "http://127.0.0.1:8700"}
    for caller in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        answer = await desk.ask("GET", "/v1/fleet/boxes", caller=caller, headers=own)
        assert answer.status_code == 200


async def test_with_a_token_nobody_passes_without_it(
    tmp_path: Path, keys: Path
) -> None:
    desk = Desk(tmp_path, keys, TOKEN)
    for said in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}é"):
        headers: Any = {"Authorization": said.encode()}
        for method, path in CALLS:
            answer = await desk.ask(method, path, headers=headers)
            assert answer.status_code == 401, said
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_with_a_token_operators_work_from_anywhere(
    tmp_path: Path, keys: Path
) -> None:
    desk = Desk(tmp_path, keys, TOKEN)
    answer = await desk.ask(
        "POST",
        "/v1/fleet/phrases",
        caller="203.0.113.9",
        base="https://cloud.example",
        headers=BEARER,
        json={"text": "欢迎光临"},
    )
    assert answer.status_code == 202


async def test_the_page_runs_only_its_own_program(desk: Desk) -> None:
    page = await desk.ask("GET", "/operators", caller="192.168.1.9")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for inline in ("onclick", "onload", "style=", "<script>", "http:", "https:"):
        assert inline not in page.text
    for part in ("/operators.js", "/operators.css"):
        assert (await desk.ask("GET", part)).status_code == 200
        assert part in page.text


async def test_a_cloud_without_a_fleet_has_no_page(tmp_path: Path) -> None:
    app = create_app(ToneEngine(), CloudSettings(data=tmp_path))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://c") as client:
        assert (await client.get("/operators")).status_code == 404
        assert (await client.get("/v1/fleet/boxes")).status_code == 404
