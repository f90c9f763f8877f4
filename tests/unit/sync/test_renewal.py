"""Certificates end, are renewed, and are taken back; with the real broker."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cloud.fleet.boxes import DAY_S
from cloud.fleet.db import FIRST, MIGRATIONS, FleetDb
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.errors import YaoheError
from common.mqtt import Link, LinkOptions
from edge.sync import service
from edge.sync.membership import Membership, make_key, signing_request
from edge.sync.renewal import Renewal
from tests.lines import Box, Line, fast, until


@pytest.fixture
def office(tmp_path: Path, chain_keys: Path) -> Office:
    office = Office(tmp_path / "cloud", FleetSettings(chain="tea", certificate_days=90))
    office.repository.found(chain_keys)
    return office


def days_before_its_end(renewal: Renewal, days: float) -> Callable[[], float]:
    return lambda: renewal.expires_s - days * DAY_S


def test_time_to_renew_comes_sixty_days_before_the_end_or_in_the_last_third(
    office: Office, tmp_path: Path
) -> None:
    renewal = Renewal(Box(tmp_path / "shop-1", office).membership, lambda: 0.0)
    for left, is_due in ((89, False), (31, False), (29, True), (-1, True)):
        renewal._now = days_before_its_end(renewal, left)
        assert renewal.is_due() is is_due, left
    # One that came five years before its end, or with a clock in 1970.
    os.utime(renewal._identity, (0, 0))
    for left, is_due in ((61, False), (59, True)):
        renewal._now = days_before_its_end(renewal, left)
        assert renewal.is_due() is is_due, left


def test_only_a_certificate_for_our_new_key_and_name_is_taken_up(
    office: Office, tmp_path: Path, chain_keys: Path
) -> None:
    membership = Box(tmp_path / "shop-1", office).membership
    Box(tmp_path / "shop-2", office)
    identity = membership.folder / "identity.pem"
    before = identity.read_bytes()
    renewal = Renewal(membership, lambda: 0.0)
    assert renewal.take(b"nobody asked") is False
    request = renewal.request()
    assert renewal.request() != request, "a request is signed anew"
    other = Office(tmp_path / "other", office.settings)
    other.repository.found(chain_keys)
    Box(tmp_path / "elsewhere" / "shop-1", other)
    stranger = signing_request(make_key(tmp_path / "stranger.pem")).encode()
    for forged in (
        b"",
        b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
        office.boxes.renew("shop-2", request),
        office.boxes.renew("shop-1", stranger),
        other.boxes.renew("shop-1", request),
    ):
        with pytest.raises(YaoheError, match="certificate"):
            renewal.take(forged)
    assert identity.read_bytes() == before
    good = office.boxes.renew("shop-1", request)
    assert renewal.take(good) is True
    assert renewal.take(good) is False
    assert identity.read_bytes() != before
    assert identity.read_bytes().endswith(good)
    assert stat.S_IMODE(identity.stat().st_mode) == 0o600
    assert not (membership.folder / "renewal.pem").exists()
    for box, asked in (("shop-1", b"\xff"), ("nobody", request)):
        with pytest.raises(YaoheError):
            office.boxes.renew(box, asked)


@pytest.mark.broker
async def test_box_renews_its_certificate_over_the_line(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RENEW_S", 0.2)
    line.start_fleet()
    box = line.box("shop-1")
    identity = box.membership.folder / "identity.pem"
    before = identity.read_bytes()
    renewal = Renewal(box.membership, lambda: 0.0)
    box.start()
    await line.phrase("今日特价")
    await line.converged()
    await asyncio.sleep(0.5)
    assert identity.read_bytes() == before
    await box.stop()
    os.utime(identity, (0, 0))
    box.wall = days_before_its_end(renewal, 40)
    box.start()
    await until(lambda: identity.read_bytes() != before, "it is not renewed")
    await box.stop()
    box.wall = time.time
    # The broker knows it under the new one, and the old one is not taken back yet.
    box.start()
    await line.phrase("买一送一")
    await line.converged()
    assert line.office.boxes.revoked() == []
    serials = line.office.db.read("SELECT serial FROM certificates WHERE box='shop-1'")
    assert len(serials) == 2


async def knocks(membership: Membership, port: int) -> bool:
    """Whether the broker lets a box in."""
    tls = lambda: membership.tls(trust_clock=True)  # noqa: E731
    options = LinkOptions("127.0.0.1", port, client=membership.enrolled.box, tls=tls)
    link = Link(fast(options))
    link.start()
    try:
        await asyncio.wait_for(link.wait_up(), 4)
    except asyncio.TimeoutError:
        return False
    finally:
        await link.stop()
    return True


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.broker
async def test_certificate_of_a_box_that_enrolled_anew_is_turned_away(
    line: Line, tmp_path: Path
) -> None:
    """Same name, same rights: only its number tells the copied disk from the box."""
    old = line.box("shop-1").membership
    shutil.copytree(old.folder, tmp_path / "stolen")
    thief = Membership(old.enrolled, tmp_path / "stolen")
    assert await knocks(thief, line.broker.port)
    new = line.box("shop-1").membership
    await asyncio.sleep(0.5)
    assert not await knocks(thief, line.broker.port)
    assert await knocks(new, line.broker.port)
    line.broker.stop()
    line.broker.start()
    assert not await knocks(thief, line.broker.port)
    line.office.boxes.remove("shop-1")
    line.office.prepare_broker()
    await asyncio.sleep(0.5)
    assert not await knocks(new, line.broker.port)


def test_file_of_the_first_release_is_brought_up_to_date_and_a_newer_one_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "fleet.db"
    old = sqlite3.connect(path)
    old.executescript(FIRST + "PRAGMA user_version=1;")
    old.execute(
        "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
        "VALUES ('shop-1', '[]', 1, 2)"
    )
    old.commit()
    old.close()
    db = FleetDb(path)
    rows = db.read("SELECT box, doubled FROM boxes")
    assert [tuple(row) for row in rows] == [("shop-1", None)]
    assert db.read("SELECT * FROM lives") == []
    assert db.read("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    fresh = FleetDb(tmp_path / "fresh.db")
    asked = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert [r["name"] for r in db.read(asked)] == [r["name"] for r in fresh.read(asked)]
    with db.change() as change:
        change.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(YaoheError, match="update it") as refusal:
        FleetDb(path)
    assert refusal.value.code == "not_ready"
