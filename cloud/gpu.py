"""How busy this machine's GPUs are, told by NVIDIA's own command where there is one.

The command takes up to a second, so it runs in a thread and what it said last is given
at once; a machine without it is a machine without GPUs.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass

COMMAND = "nvidia-smi"
QUERY = "index,utilization.gpu,memory.used,memory.total"
REFRESH_S = 5.0
"""Older figures are asked for anew."""
TIMEOUT_S = 10.0
MIB = 1 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gpu:
    """One GPU at one moment.

    Attributes:
        index: Its number.
        utilisation: Share of time in which it computed, 0-1; None where not told.
        used_bytes: Memory in use.
        total_bytes: All of its memory.
    """

    index: str
    utilisation: float | None
    used_bytes: int
    total_bytes: int


def parse(text: str) -> tuple[Gpu, ...]:
    """Read what the command prints.

    Args:
        text: Lines of ``index, percent, MiB, MiB``; a figure may be ``[N/A]``.

    Returns:
        The GPUs of all lines that make sense.
    """
    found = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(QUERY.split(",")):
            continue
        index, share, used, total = fields
        if index.isdecimal() and used.isdecimal() and total.isdecimal():
            busy = int(share) / 100 if share.isdecimal() else None
            found.append(Gpu(index, busy, int(used) * MIB, int(total) * MIB))
    return tuple(found)


class Gpus:
    """The GPUs of this machine, as they were a moment ago."""

    def __init__(self, command: str = COMMAND) -> None:
        """Find the command.

        Args:
            command: Its name or path.
        """
        self._command = shutil.which(command)
        self._known: tuple[Gpu, ...] = ()
        self._asked_at = float("-inf")
        self._lock = threading.Lock()

    def latest(self) -> tuple[Gpu, ...]:
        """What is known; what is old is asked for anew, for the next call."""
        with self._lock:
            now = time.monotonic()
            is_due = now - self._asked_at >= REFRESH_S
            if self._command is not None and is_due:
                self._asked_at = now
                threading.Thread(target=self.ask, name="gpus", daemon=True).start()
            return self._known

    def ask(self) -> None:
        """Run the command and keep what it says."""
        if self._command is None:
            return
        command = [
            self._command,
            f"--query-gpu={QUERY}",
            "--format=csv,noheader,nounits",
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            _log.warning("no figures of the GPUs: %r", error)
            self._known = ()
            return
        self._known = parse(done.stdout)
