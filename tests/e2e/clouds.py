"""Starts real clouds for tests: the command, on a free port, with its own data."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
READY_S = 90.0
STOP_S = 30.0
TIMEOUT_S = 120.0


@dataclass
class Cloud:
    """A running cloud.

    Attributes:
        process: The command.
        address: Its base URL.
    """

    process: subprocess.Popen[str]
    address: str

    def client(self) -> httpx.Client:
        """A client that keeps its connection; ask it for paths."""
        return httpx.Client(base_url=self.address, timeout=TIMEOUT_S, trust_env=False)

    def stop(self) -> int:
        """Ask it to end.

        Returns:
            Its exit code.
        """
        self.process.terminate()
        return self.process.wait(STOP_S)


@contextmanager
def running_cloud(data: Path, *options: str, **settings: str) -> Iterator[Cloud]:
    """Run a cloud while the block runs.

    Args:
        data: Folder of its state.
        options: Further options of ``serve``.
        settings: Further ``YAOHE_CLOUD_*`` variables, without that prefix.

    Yields:
        The cloud, ready to speak.
    """
    data.mkdir(parents=True, exist_ok=True)
    told = {f"YAOHE_CLOUD_{name}": value for name, value in settings.items()}
    with (data / "cloud.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cloud", "serve", "--port", "0", *options],
            cwd=ROOT,
            env={**os.environ, "YAOHE_CLOUD_DATA": str(data), **told},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "http://" in said, (data / "cloud.log").read_text()
        cloud = Cloud(process, said.split()[-1].rstrip("/"))
        _await_ready(cloud)
        yield cloud
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _await_ready(cloud: Cloud) -> None:
    until = time.monotonic() + READY_S
    with cloud.client() as client:
        while client.get("/readyz").status_code != httpx.codes.OK:
            assert cloud.process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
