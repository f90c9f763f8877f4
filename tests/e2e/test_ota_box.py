"""A running box and the commands beside it: packs come, are refused, and leave."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from distill import signing
from tests.e2e.boxes import running_box
from tests.e2e.processes import ROOT
from tests.lines import Box
from tests.unit.ota.tinypack import make_pack

pytestmark = pytest.mark.slow
PATIENCE_S = 60.0
SPEECH = {"input": "欢迎光临", "voice": "man", "response_format": "wav"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    signing.keygen(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.fixture
def data(tmp_path: Path, keys: Path) -> Path:
    """The data of a box that is one of the chain."""
    office = Office(tmp_path / "cloud", FleetSettings(chain="tea"))
    office.repository.found(keys)
    return Box(tmp_path / "shop", office).data


def packs(data: Path, *words: str) -> tuple[int, str]:
    """Run ``yaohe-edge packs``; gives exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "edge", "packs", *words, "--data", str(data)],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 2,
    )
    return done.returncode, done.stdout + done.stderr


def signed(folder: Path, keys: Path, version: str) -> Path:
    pack = make_pack(folder / f"hum-{version}", version)
    signing.sign_pack(pack, keys)
    return pack


def spoken(client: httpx.Client) -> tuple[int, str, str]:
    answer = client.post("/v1/audio/speech", json=SPEECH)
    headers = answer.headers
    return (
        answer.status_code,
        headers.get("X-Yaohe-Tier", ""),
        headers.get("X-Yaohe-Substituted", ""),
    )


def until_spoken(client: httpx.Client, expected: tuple[int, str, str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while spoken(client) != expected:
        assert time.monotonic() < deadline, spoken(client)
        time.sleep(0.2)


def test_running_box_takes_a_signed_pack_and_refuses_tampered_ones(
    tmp_path: Path, keys: Path, data: Path
) -> None:
    settings = {"SYNC__ENABLED": "false", "CACHE__BUDGET_BYTES": "0"}
    own = (200, "edge", "")
    with running_box(data, **settings) as box, box.client() as client:
        assert spoken(client) == (200, "last-resort", "woman")
        first = signed(tmp_path, keys, "1.0.0")
        assert packs(data, "install", str(first))[0] == 0
        until_spoken(client, own)

        flipped = signed(tmp_path, keys, "1.1.0")
        content = bytearray((flipped / "padding.bin").read_bytes())
        content[70_000] ^= 1
        (flipped / "padding.bin").write_bytes(content)
        signing.keygen(tmp_path / "others")
        foreign = make_pack(tmp_path / "foreign", "1.2.0")
        signing.sign_pack(foreign, tmp_path / "others")
        older = signed(tmp_path, keys, "0.9.0")
        for folder, reason in (
            (flipped, "damaged"),
            (foreign, "bad_signature"),
            (older, "older_version"),
        ):
            code, said = packs(data, "install", str(folder))
            assert code == 2
            assert f"yaohe-edge: {reason}: " in said
            assert spoken(client) == own
        listed = packs(data, "list")[1]
        assert "hum@1.0.0" in listed
        assert "damaged" in listed
        status = client.get("/v1/status").json()
        refused = {one["pack"]: one["reason"] for one in status["refusals"]}
        assert refused["hum@1.1.0"] == "damaged"
        told = {check["name"]: check["says"] for check in status["checks"]}
        assert "hum@1.1.0 is refused: its bytes are not" in told["updates"]
        assert "told not to connect" in told["line"]
        box.kill()

    with running_box(data, **settings) as box, box.client() as client:
        assert spoken(client) == own
        assert packs(data, "remove", "hum")[0] == 0
        until_spoken(client, (200, "last-resort", "woman"))
