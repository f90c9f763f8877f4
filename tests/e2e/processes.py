"""Starts the real commands for tests: on a free port, with a log of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def started(
    *command: str, log: Path, says: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command while the block runs.

    Args:
        *command: A package and its words, as after ``python -m``.
        log: File for what it complains of; its folder is made.
        says: What stands in its first line once it answers.
        **environment: Variables beside those of this process.

    Yields:
        The process, and the address that its first line ends with.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert says in first, log.read_text()
        yield process, first.split()[-1].rstrip("/")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def prefixed(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as variables of the environment."""
    return {f"{prefix}_{name}": value for name, value in settings.items()}
