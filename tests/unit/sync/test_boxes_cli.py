"""What an operator sees of a box that is not well."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cloud.cli import app
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.protocol import reports
from common.protocol.reports import State


def listed() -> str:
    done = CliRunner().invoke(app, ["boxes", "list"])
    assert done.exit_code == 0, done.output
    return done.output


def test_copied_disk_and_reports_given_up_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_CLOUD_DATA", str(tmp_path))
    office = Office(tmp_path, FleetSettings())
    with office.db.change() as db:
        db.execute(
            "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
            "VALUES ('shop-1', '[]', 0, 0)"
        )
    assert "TWO MACHINES" not in listed()
    state = reports.encode(State(boot="aa", at=1, waiting=3, dropped=7)).decode()
    with office.db.change() as db:
        db.execute("UPDATE boxes SET doubled = ?, state = ?", (int(time.time()), state))
    said = listed()
    assert "TWO MACHINES USE THIS NAME: enrol one anew" in said
    assert "7 REPORTS GIVEN UP" in said
