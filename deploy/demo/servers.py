"""Starts the real commands as processes, waits until they can speak, and ends them.

Only what was started here is ended, and all of it, whatever happens in between.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_S = 60.0
"""Seconds a server gets until it can speak."""
STOP_S = 15.0
"""Seconds a server gets to end by itself."""


class NotStarted(Exception):
    """A server ended, or was not ready in time; the text says where to look."""


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        name: What it is called in tables and log files.
        address: Its base URL.
    """

    name: str
    address: str


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    name: str, command: list[str], settings: Mapping[str, str], log: Path
) -> Iterator[Server]:
    """Run one server while the block runs.

    Args:
        name: What it is called.
        command: Module and verb, such as ``["edge", "run"]``.
        settings: Environment variables; ``{port}`` in them is the port.
        log: Where its output goes.

    Yields:
        The server, ready to speak.

    Raises:
        NotStarted: It did not become ready.
    """
    port = free_port()
    environment = {key: value.format(port=port) for key, value in settings.items()}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            server = Server(name, f"http://127.0.0.1:{port}")
            _wait(server, process, log)
            yield server
        finally:
            _stop(process)


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise NotStarted(f"{server.name} ended at once; see {log}")
        try:
            with urllib.request.urlopen(f"{server.address}/readyz", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise NotStarted(f"{server.name} was not ready after {READY_S:.0f} s; see {log}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
