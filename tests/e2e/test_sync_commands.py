"""The real commands: from no keys to a phrase that a box plays from its cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from common.voice.pack import starter_directory
from tests.brokers import Mosquitto
from tests.e2e.processes import started

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (starter_directory() / "manifest.json").exists(),
        reason="the starter pack is not built yet",
    ),
]
PATIENCE_S = 120.0
TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Machine:
    """A folder, an environment, and commands that run in them."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        self.root = root
        self.environment = os.environ | {
            "YAOHE_CLOUD_DATA": str(folder / "cloud"),
            "YAOHE_EDGE_DATA": str(folder / "box"),
            "OMP_NUM_THREADS": "1",
        }

    def run(self, *command: str) -> str:
        done = self.try_run(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def try_run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    @contextmanager
    def running(self, *command: str) -> Iterator[str]:
        """A server; gives its address."""
        log = self.folder / f"{command[0]}.log"
        with started(*command, log=log, says="http://", **self.environment) as (
            process,
            address,
        ):
            try:
                yield address
            finally:
                process.terminate()
                process.wait(PATIENCE_S)


def is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def test_commands_bring_a_phrase_from_the_operator_to_the_shop(
    tmp_path: Path, root: Path, free_port: Callable[[], int]
) -> None:
    machine = Machine(tmp_path, root)
    port = free_port()
    machine.environment |= {
        "YAOHE_CLOUD_FLEET__ENABLED": "true",
        "YAOHE_CLOUD_FLEET__CHAIN": "tea",
        "YAOHE_CLOUD_FLEET__BROKER_PORT": str(port),
        "YAOHE_EDGE_SYNC__TICK_S": "0.5",
        "YAOHE_EDGE_SYNC__STATE_S": "0.5",
        "YAOHE_EDGE_SYNC__REPORT_S": "1",
    }
    early = machine.try_run("cloud", "boxes", "invite", "shop-1")
    assert early.returncode == 2
    assert "keygen" in early.stderr
    assert len(early.stderr.strip().splitlines()) == 1

    machine.run("distill", "keygen", str(tmp_path / "keys"))
    machine.run("cloud", "packs", "trust", str(tmp_path / "keys"))
    broker = Mosquitto(Path(machine.run("cloud", "boxes", "broker")), port)
    code = machine.run("cloud", "boxes", "invite", "shop-1", "--group", "south")
    with ExitStack() as stack:
        stack.callback(broker.stop)
        broker.start()
        cloud = stack.enter_context(
            machine.running("cloud", "serve", "--port", "0", "--unsigned")
        )
        until(lambda: is_ready(cloud), "the cloud is not ready")
        wrong = machine.try_run("edge", "enrol", "0" * 20, "--cloud", cloud)
        assert wrong.returncode == 2
        assert "unauthorized" in wrong.stderr
        said = machine.run("edge", "enrol", code, "--cloud", cloud)
        assert "shop-1 of chain tea, groups south" in said
        box = stack.enter_context(
            machine.running("edge", "run", "--host", "127.0.0.1", "--port", "0")
        )
        until(lambda: is_ready(box), "the box is not ready")
        key = machine.run("cloud", "phrases", "add", TEXT)
        assert key in machine.run("cloud", "phrases", "list")

        def row() -> dict[str, object]:
            rows = json.loads(machine.run("cloud", "boxes", "list", "--json"))
            return dict(rows[0])

        until(lambda: row()["phrases"] == 1, "the phrase does not come")
        answer = httpx.get(
            f"{box}/v1/audio/speech", params={"input": TEXT, "response_format": "wav"}
        )
        assert answer.headers["X-Yaohe-Tier"] == "cache"
        until(lambda: row()["tiers"] == {"cache": 1}, "the count does not come")
        assert "shop-1" in machine.run("cloud", "boxes", "list")
        line = httpx.get(f"{box}/v1/status").json()["line"]
        assert (line["box"], line["chain"], line["is_up"]) == ("shop-1", "tea", True)
        machine.environment["YAOHE_EDGE_HTTP__PORT"] = box.rsplit(":", 1)[1]
        said = machine.run("edge", "doctor")
        assert "shop-1 of chain tea is connected" in said
    rows = json.loads(machine.run("cloud", "boxes", "list", "--json"))
    assert rows[0]["groups"] == ["south"]
