"""Enrolment and access, over real HTTP handlers and with the real broker."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from cloud.api import errors
from cloud.fleet import authority, routes
from cloud.fleet.authority import NOT_BEFORE
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from cloud.metrics import Metrics
from common.errors import YaoheError
from common.mqtt import Link, LinkDown, LinkOptions, PublishRefused
from common.protocol import topics
from common.protocol.reports import EnrolRequest
from common.trust import claim as claims
from edge.sync import membership as members
from edge.sync.membership import Membership, enrol, load_membership
from tests.brokers import Mosquitto
from tests.webs import served

CLOUD = "http://cloud"
PATIENCE_S = 15.0


@pytest.fixture
def office(tmp_path: Path, chain_keys: Path, free_port: Callable[[], int]) -> Office:
    office = Office(
        tmp_path / "cloud", FleetSettings(chain="tea", broker_port=free_port())
    )
    office.repository.found(chain_keys)
    return office


@pytest.fixture
def web(office: Office) -> Iterator[str]:
    app = FastAPI()
    app.state.office, app.state.metrics = office, Metrics()
    app.include_router(routes.router)
    errors.install(app)
    with served(app) as address:
        yield address


def joined(office: Office, web: str, data: Path, *groups: str) -> Membership:
    code = str(office.boxes.invite(data.name, groups))
    return enrol(code.lower().replace("-", " "), web, data)


def test_code_makes_a_box_one_of_the_chain(
    office: Office, web: str, tmp_path: Path
) -> None:
    member = joined(office, web, tmp_path / "shop-1", "south")
    told = member.enrolled
    assert (told.box, told.chain, told.groups) == ("shop-1", "tea", ["south"])
    assert json.loads(told.root)["signed"]["_type"] == "root"
    assert load_membership(tmp_path / "shop-1") == member
    identity = member.folder / "identity.pem"
    assert stat.S_IMODE(identity.stat().st_mode) == 0o600
    assert [row.box for row in office.boxes.list()] == ["shop-1"]
    assert load_membership(tmp_path / "shop-2") is None


def test_lost_answer_can_be_asked_for_again_but_not_by_another_key(
    office: Office, web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = str(office.boxes.invite("shop-1"))

    class Cut(Exception):
        pass

    with monkeypatch.context() as patch:

        def lose(*_: object) -> None:
            raise Cut

        patch.setattr(members, "_proven", lose)
        with pytest.raises(Cut):
            enrol(code, web, tmp_path / "box")
    assert load_membership(tmp_path / "box") is None
    assert enrol(code, web, tmp_path / "box").enrolled.box == "shop-1"
    with pytest.raises(YaoheError) as caught:
        enrol(code, web, tmp_path / "thief")
    assert caught.value.code == "unauthorized"


@pytest.mark.parametrize("code", ["", "x" * 5000, "AAAAA-AAAAA-AAAAA-AAAA!", "你好"])
def test_what_is_no_code_is_refused_before_anything_is_sent(
    code: str, tmp_path: Path
) -> None:
    with pytest.raises(YaoheError) as caught:
        enrol(code, "http://127.0.0.1:1", tmp_path)
    assert caught.value.code == "invalid_request"


def test_wrong_secret_expired_and_unknown_codes_get_one_answer(
    office: Office, web: str, tmp_path: Path
) -> None:
    good = office.boxes.invite("shop-1")
    said = set()
    for wrong in (good._replace(secret="0" * 15), claims.new_claim()):
        with pytest.raises(YaoheError) as caught:
            enrol(str(wrong), web, tmp_path)
        said.add((caught.value.code, caught.value.message))
    with office.db.change() as db:
        db.execute("UPDATE claims SET expires = 1")
    with pytest.raises(YaoheError) as caught:
        enrol(str(good), web, tmp_path)
    said.add((caught.value.code, caught.value.message))
    assert len(said) == 1


def test_answer_of_somebody_who_does_not_know_the_code_is_refused(
    office: Office, tmp_path: Path
) -> None:
    """Someone between box and cloud may change every byte, and gains nothing."""
    code = office.boxes.invite("shop-1")

    def meddle(request: httpx.Request) -> httpx.Response:
        asked = EnrolRequest.model_validate_json(request.content)
        answer = office.enrol(asked)
        forged = answer.enrolled.replace('"tea"', '"pie"')
        body = answer.model_copy(update={"enrolled": forged}).model_dump_json()
        return httpx.Response(200, content=body)

    client = httpx.Client(transport=httpx.MockTransport(meddle))
    with pytest.raises(YaoheError, match="does not know"):
        enrol(str(code), CLOUD, tmp_path, client=client)
    assert load_membership(tmp_path) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"\xff", b'{"v":1}', b"{" * 9999])
def test_broken_requests_are_4xx(web: str, body: bytes) -> None:
    answer = httpx.post(f"{web}/v1/enrol", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("name", ["", "_cloud", "a/b", "+", "#", "a b", "x" * 65, "é"])
def test_names_that_cannot_be_topics_are_refused(office: Office, name: str) -> None:
    with pytest.raises(YaoheError):
        office.boxes.invite(name)


def test_blobs_are_served_by_digest_and_in_ranges(office: Office, web: str) -> None:
    digest = office.blobs.keep(b"0123456789")
    answer = httpx.get(f"{web}/v1/blobs/{digest}", headers={"Range": "bytes=4-6"})
    assert (answer.status_code, answer.content) == (206, b"456")
    for wrong in ("0" * 64, "..%2F..%2Ffleet.db", "x"):
        assert httpx.get(f"{web}/v1/blobs/{wrong}").status_code == 404


@pytest.fixture
def secure(office: Office) -> Iterator[Mosquitto]:
    """The broker, as the office configures it."""
    config = office.prepare_broker()
    broker = Mosquitto(config, office.settings.broker_port).start()
    yield broker
    broker.stop()


def options(member: Membership, client: str | None = None) -> LinkOptions:
    told = member.enrolled
    return LinkOptions(
        *(told.broker_host, told.broker_port, client or told.box),
        tls=lambda: member.tls(trust_clock=True),
        backoff_first_s=0.05,
        backoff_max_s=0.5,
    )


@asynccontextmanager
async def up(link: Link) -> AsyncIterator[Link]:
    link.start()
    try:
        await asyncio.wait_for(link.wait_up(), PATIENCE_S)
        yield link
    finally:
        await link.stop()


@pytest.mark.broker
async def test_box_neither_reads_nor_writes_what_is_another_boxs(
    office: Office, secure: Mosquitto, web: str, tmp_path: Path
) -> None:
    # Enrolled while the broker runs: it is told to read its rules again.
    one = joined(office, web, tmp_path / "shop-1", "south")
    two = joined(office, web, tmp_path / "shop-2", "north")
    await asyncio.sleep(0.5)
    cloud = Link(office.link_options(), filters=["t1/#"])
    spy = Link(options(one), filters=["t1/#", "#", "t1/tea/e/shop-2/#"])
    async with up(cloud), up(spy), up(Link(options(two))) as other:
        for mine in (
            topics.Birth("tea", "shop-1"),
            topics.State("tea", "shop-1"),
            topics.Event("tea", "shop-1", 1),
            topics.Need("tea", 0, "shop-1"),
        ):
            await spy.publish(str(mine), b"mine")
        heard = [await asyncio.wait_for(cloud.receive(), PATIENCE_S) for _ in range(4)]
        assert all(delivery.payload == b"mine" for delivery in heard)

        for foreign in (
            topics.Birth("tea", "shop-2"),
            topics.State("tea", "shop-2"),
            topics.Event("tea", "shop-2", 1),
            topics.Need("tea", 0, "shop-2"),
            topics.Command("tea", "shop-1"),
            topics.Timestamp("tea"),
            topics.Head("tea", "all"),
            topics.Birth("pie", "shop-1"),
        ):
            with pytest.raises(PublishRefused):
                await spy.publish(str(foreign), b"foreign")

        blob = "0" * 64
        for secret in (
            topics.Command("tea", "shop-2"),
            topics.Inbox("tea", "shop-2", blob, 0),
            topics.Head("tea", "g/north"),
            topics.Command("pie", "shop-1"),
        ):
            await cloud.publish(str(secret), b"secret")
        await other.publish(str(topics.Birth("tea", "shop-2")), b"secret")
        open_to_all = [
            topics.Command("tea", "shop-1"),
            topics.Inbox("tea", "shop-1", blob, 0),
            topics.Head("tea", "g/south"),
            topics.Head("tea", "all"),
            topics.Log("tea", "voice/woman/zh"),
            topics.Chunk("tea", blob, 3),
            topics.Metadata("tea", "root", 1),
        ]
        for topic in open_to_all:
            await cloud.publish(str(topic), b"open")
        got: set[str] = set()
        while len(got) < len(open_to_all):
            delivery = await asyncio.wait_for(spy.receive(), PATIENCE_S)
            delivery.ack()
            assert delivery.payload == b"open", delivery.topic
            got.add(delivery.topic)
        assert got == {str(topic) for topic in open_to_all}


@pytest.mark.broker
async def test_box_cannot_take_anothers_client_id(
    office: Office, secure: Mosquitto, web: str, tmp_path: Path
) -> None:
    one = joined(office, web, tmp_path / "shop-1")
    two = joined(office, web, tmp_path / "shop-2")
    await asyncio.sleep(0.5)
    async with up(Link(options(one))) as honest:
        async with up(Link(options(two, client="shop-1"))):
            await honest.publish(str(topics.State("tea", "shop-1")), b"")
            await asyncio.sleep(0.5)
        assert honest.connections == 1


@pytest.mark.broker
async def test_box_that_was_removed_can_say_nothing_more(
    office: Office, secure: Mosquitto, web: str, tmp_path: Path
) -> None:
    member = joined(office, web, tmp_path / "shop-1")
    await asyncio.sleep(0.5)
    async with up(Link(options(member))) as link:
        topic = str(topics.State("tea", "shop-1"))
        await link.publish(topic, b"here")
        office.boxes.remove("shop-1")
        office.prepare_broker()
        await asyncio.sleep(0.5)
        with pytest.raises(PublishRefused):
            await link.publish(topic, b"still here")
    with pytest.raises(YaoheError, match="no box"):
        office.boxes.remove("shop-1")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.broker
async def test_certificate_of_another_authority_is_turned_away(
    office: Office, secure: Mosquitto, web: str, tmp_path: Path, chain_keys: Path
) -> None:
    member = joined(office, web, tmp_path / "shop-1")
    other = Office(tmp_path / "other", office.settings)
    other.repository.found(chain_keys)
    forged = other._authority.issue_client("shop-1")
    (member.folder / "identity.pem").write_bytes(forged.key + forged.certificate)
    link = Link(options(member))
    link.start()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(link.wait_up(), 2)
    with pytest.raises(LinkDown):
        await link.publish("t1/tea/e/shop-1/state", b"")
    await link.stop()


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.broker
async def test_broker_is_reached_when_the_clock_is_wrong(
    office: Office,
    secure: Mosquitto,
    web: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dates are not looked at then: this broker's certificate is long over."""
    member = joined(office, web, tmp_path / "shop-1")
    with monkeypatch.context() as patch:
        patch.setattr(authority, "_after", lambda _: NOT_BEFORE + dt.timedelta(1))
        expired = office._authority.issue_server(["127.0.0.1"])
    folder = office.folder / "broker"
    (folder / "broker.key").write_bytes(expired.key)
    (folder / "broker.crt").write_bytes(expired.certificate)
    secure.stop()
    secure.start()
    refused = Link(options(member))
    refused.start()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(refused.wait_up(), 2)
    await refused.stop()
    told = LinkOptions(
        *(member.enrolled.broker_host, member.enrolled.broker_port, "shop-1"),
        tls=lambda: member.tls(trust_clock=False),
    )
    async with up(Link(told)) as link:
        assert link.is_up
