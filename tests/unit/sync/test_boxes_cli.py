"""What an operator sees of a box that is not well."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from cloud.cli import app
from cloud.fleet.cli import LACKS
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.protocol import reports
from common.protocol.reports import State
from edge.sync.state import Why


def listed(*options: str) -> str:
    done = CliRunner().invoke(app, ["boxes", "list", *options])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    """A cloud with one box that has said nothing yet."""
    monkeypatch.setenv("YAOHE_CLOUD_DATA", str(tmp_path))
    office = Office(tmp_path, FleetSettings())
    with office.db.change() as db:
        db.execute(
            "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
            "VALUES ('shop-1', '[]', 0, 0)"
        )
    return office


def test_copied_disk_and_reports_given_up_are_announced(office: Office) -> None:
    assert "TWO MACHINES" not in listed()
    state = reports.encode(State(boot="aa", at=1, waiting=3, dropped=7)).decode()
    with office.db.change() as db:
        db.execute("UPDATE boxes SET doubled = ?, state = ?", (int(time.time()), state))
    said = listed()
    assert "TWO MACHINES USE THIS NAME: enrol one anew" in said
    assert "7 REPORTS GIVEN UP" in said


def told(office: Office, lacking: int, why: str) -> str:
    """The list after a box said what it lacks."""
    state = State(boot="aa", at=1, lacking=lacking, lacking_why=why)
    with office.db.change() as db:
        office.boxes.take_state(db, "shop-1", state)
    return listed()


def test_phrases_that_a_box_lacks_are_counted_with_the_reason_until_they_are_there(
    office: Office,
) -> None:
    assert "lacking" not in listed().lower()
    assert "12 PHRASES LACKING: its disk is nearly full" in told(office, 12, "disk")
    (row,) = json.loads(listed("--json"))
    assert (row["lacking"], row["lacking_why"]) == (12, "disk")
    assert "3 phrases are coming" in told(office, 3, "coming")
    after = told(office, 0, "")
    assert "lacking" not in after.lower()
    assert "coming" not in after


def test_every_reason_that_a_box_gives_has_words_here() -> None:
    assert set(LACKS) == set(get_args(Why)) - {"", "coming"}


def test_a_reason_of_a_later_box_is_shown_as_it_came(office: Office) -> None:
    assert "1 PHRASES LACKING: 'quota'" in told(office, 1, "quota")


def test_a_box_of_an_earlier_release_that_says_nothing_of_it_lacks_nothing(
    office: Office,
) -> None:
    state = reports.decode(State, b'{"at":1,"boot":"aa","phrases":5,"v":1}')
    with office.db.change() as db:
        office.boxes.take_state(db, "shop-1", state)
    said = listed()
    assert "phrases 5" in said
    assert "lacking" not in said.lower()
