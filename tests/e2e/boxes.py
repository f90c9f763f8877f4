"""Starts real boxes for tests: the command, on a free port, with its own data."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from tests.e2e.processes import prefixed, started

READY_S = 90.0
STOP_S = 30.0
TIMEOUT_S = 120.0


@dataclass
class Box:
    """A running box.

    Attributes:
        process: The command.
        address: Its base URL.
    """

    process: subprocess.Popen[str]
    address: str

    def client(self) -> httpx.Client:
        """A client that keeps its connection; ask it for paths."""
        return httpx.Client(base_url=self.address, timeout=TIMEOUT_S, trust_env=False)

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end.

        Returns:
            Its exit code.
        """
        self.process.terminate()
        return self.process.wait(STOP_S)

    @property
    def memory_bytes(self) -> int:
        """Resident memory of the process."""
        return int(psutil.Process(self.process.pid).memory_info().rss)


@contextmanager
def running_box(data: Path, **settings: str) -> Iterator[Box]:
    """Run a box while the block runs.

    Args:
        data: Folder of its state.
        settings: Further ``YAOHE_EDGE_*`` variables, without that prefix.

    Yields:
        The box, ready to speak.
    """
    command = ("edge", "run", "--host", "127.0.0.1", "--port", "0", "--data", str(data))
    told = prefixed("YAOHE_EDGE", {"CACHE__MIN_FREE_BYTES": "0", **settings})
    log = data / "box.log"
    with started(*command, log=log, says="http://", **told) as (process, address):
        box = Box(process, address)
        _await_ready(box)
        yield box


def _await_ready(box: Box) -> None:
    until = time.monotonic() + READY_S
    with box.client() as client:
        while client.get("/readyz").status_code != httpx.codes.OK:
            assert box.process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)


def metric(client: httpx.Client, name: str) -> float:
    """One number of a box by its name and labels."""
    for line in client.get("/metrics").text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no metric {name}")
