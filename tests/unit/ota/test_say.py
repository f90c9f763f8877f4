"""``say --pack``: a signature that counts on this box, or a person's own word."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from edge.cli import app
from tests.lines import Box
from tests.unit.ota.conftest import SignedPack
from tests.unit.ota.tinypack import make_pack

run = CliRunner()


def say(pack: Path, out: Path, *more: str) -> tuple[int, str]:
    words = ["say", "欢迎光临", "--out", str(out), "--pack", str(pack), *more]
    result = run.invoke(app, words)
    return result.exit_code, result.stderr


def test_pack_speaks_by_its_signature_on_a_box_that_enrolled(
    tmp_path: Path,
    keys: Path,
    signed_pack: SignedPack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, out = tmp_path / "shop", tmp_path / "a.wav"
    monkeypatch.setenv("YAOHE_EDGE_DATA", str(data))
    pack = signed_pack()
    code, told = say(pack, out)
    assert (code, "enrol" in told) == (2, True)
    assert say(pack, out, "--unsigned")[0] == 0

    office = Office(tmp_path / "cloud", FleetSettings(chain="tea"))
    office.repository.found(keys)
    Box(data, office)
    code, told = say(pack, out)
    assert (code, "tier edge" in told) == (0, True)
    code, told = say(make_pack(tmp_path / "unsigned"), out)
    assert (code, "dsse" in told) == (2, True)
