"""Starts real clouds for tests: the command, on a free port, with its own data."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.e2e.processes import prefixed, started

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
    command = ("cloud", "serve", "--port", "0", *options)
    told = prefixed("YAOHE_CLOUD", {"DATA": str(data), **settings})
    log = data / "cloud.log"
    with started(*command, log=log, says="http://", **told) as (process, address):
        cloud = Cloud(process, address)
        _await_ready(cloud)
        yield cloud


def _await_ready(cloud: Cloud) -> None:
    until = time.monotonic() + READY_S
    with cloud.client() as client:
        while client.get("/readyz").status_code != httpx.codes.OK:
            assert cloud.process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
