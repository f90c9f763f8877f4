"""Runs the real commands as processes: waits until they can work, and ends them.

Only what was started here is ended, and all of it, whatever happens in between.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

READY_S = 60.0
"""Seconds a server gets until it can work."""
STOP_S = 15.0
"""Seconds a server gets to end by itself."""
COMMAND_S = 120.0
"""Seconds a command gets."""
LOOK_S = 0.1


class DemoError(Exception):
    """Something did not go as it should; the text says what, or where to look."""


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(holds: Callable[[], object], what: str, within_s: float = READY_S) -> None:
    """Wait until something holds.

    Args:
        holds: Looks.
        what: What is wrong if it never does.
        within_s: Longest wait.

    Raises:
        DemoError: It did not come to hold.
    """
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            raise DemoError(f"{what} within {within_s:.0f} s")
        time.sleep(LOOK_S)


def command(environment: Mapping[str, str], *words: str) -> tuple[int, str]:
    """Run a command of Yaohe to its end.

    Args:
        environment: Its variables.
        *words: Package and arguments, such as ``cloud boxes list``.

    Returns:
        Its exit code and what it said.
    """
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    return done.returncode, (done.stdout or done.stderr).strip()


class Server:
    """A server that can be started, ended and killed, always on the same port.

    Attributes:
        name: What it is called in tables and log files.
        port: Where it listens on the loopback.
        address: Its base URL.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        port: int,
        log: Path,
    ) -> None:
        """Remember how it is started.

        Args:
            name: What it is called.
            words: Program and arguments.
            environment: Its variables.
            port: Where it listens.
            log: Where its output goes.
        """
        self.name = name
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        self._words = list(words)
        self._environment = dict(environment)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process while it runs."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and running else None

    def start(self, **changes: str) -> None:
        """Start it and wait until it can work.

        Args:
            **changes: Variables that are otherwise this time.

        Raises:
            DemoError: It ended, or was not ready in time.
        """
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                self._words,
                env={**self._environment, **changes},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the demo, which ends them in their order.
                start_new_session=True,
            )
        until(self._is_ready_or_gone, f"{self.name} cannot work, see {self._log},")
        if self.pid is None:
            raise DemoError(f"{self.name} ended at once; see {self._log}")

    def stop(self) -> None:
        """Ask it to end, and see to it."""
        self._end(lambda process: process.terminate())

    def kill(self) -> None:
        """End it as a power cut does."""
        self._end(lambda process: process.kill())

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        how(process)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _is_ready_or_gone(self) -> bool:
        return self.pid is None or self.is_ready()

    def is_ready(self) -> bool:
        """Whether it says that it can work."""
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False


class BrokerServer(Server):
    """Mosquitto, which says nothing: it works when its port is open."""

    def is_ready(self) -> bool:
        """Whether it listens."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def mosquitto() -> str:
    """Mosquitto's program.

    Raises:
        DemoError: There is none.
    """
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    program = shutil.which("mosquitto", path=path)
    if program is None:
        raise DemoError("Mosquitto 2 is missing: apt-get install mosquitto")
    return program
