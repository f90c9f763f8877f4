"""A real Mosquitto for tests: started on a free port, cut off, restarted, zeroed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

PATIENCE_S = 20.0
PLAIN = """\
listener {port} 127.0.0.1
allow_anonymous true
user {user}
set_tcp_nodelay true
max_queued_messages 5000
persistence true
persistence_location {data}/
autosave_interval 1
autosave_on_changes true
log_dest stderr
"""


class Mosquitto:
    """One broker process on loopback."""

    def __init__(self, config: Path, port: int) -> None:
        self.config = config
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def plain(cls, folder: Path, port: int) -> Mosquitto:
        """Without TLS and without access control."""
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "mosquitto.conf"
        config.write_text(
            PLAIN.format(
                port=port, user=pwd.getpwuid(os.geteuid()).pw_name, data=folder
            ),
            "utf-8",
        )
        return cls(config, port)

    def start(self) -> Mosquitto:
        program = shutil.which("mosquitto") or shutil.which(
            "mosquitto", path="/usr/sbin:/usr/local/sbin"
        )
        if program is None:
            pytest.fail("these tests need Mosquitto 2: apt-get install mosquitto")
        with (self.config.parent / "mosquitto.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "-c", str(self.config)], stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        raise AssertionError(self.log())

    def log(self) -> str:
        path = self.config.parent / "mosquitto.log"
        return path.read_text("utf-8", "replace")

    def reload(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def stop(self, *, kill: bool = False) -> None:
        if self.process is not None:
            if kill:
                self.process.kill()
            else:
                self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def zero(self) -> None:
        """Fill its database with zeros, as a power cut may."""
        for path in self.config.parent.rglob("*.db"):
            path.write_bytes(bytes(path.stat().st_size))
