"""A process that installs a pack, to be killed or starved while it does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import pytest

from common.trust.packs import pack_keyring
from edge.db import DatabaseGone
from edge.ota.depot import Depot
from edge.ota.folder import install
from edge.ota.ledger import Ledger
from edge.ota.refusal import Refused
from edge.ota.trial import try_out
from edge.ota.updater import Updater

PATIENCE_S = 120.0
REFUSED, NOT_NOW = 3, 4
CALLS = (
    *("write", "pwrite64", "fallocate", "fsync", "fdatasync", "ftruncate"),
    *("rename", "link", "mkdir", "unlink", "unlinkat", "rmdir", "chmod"),
)
_LINE = re.compile(r"(\d+) +(\w+)\(")


class Point(NamedTuple):
    """Where a process is hit: its n-th call of a kind."""

    call: str
    number: int


def run(data: Path, pack: Path, root: bytes, start: Connection) -> None:
    """Install, once told to; the exit code tells what came of it."""
    start.recv()
    ledger = Ledger(data / "ota.db")
    try:
        ledger.wait_open()
        updater = Updater(ledger, Depot(data / "packs", min_free_bytes=0), try_out)
        install(pack, pack_keyring(root), updater)
    except Refused as refusal:
        print(refusal.reason, refusal.message, file=sys.stderr)
        sys.exit(REFUSED)
    except (OSError, DatabaseGone) as error:
        print(error, file=sys.stderr)
        sys.exit(NOT_NOW)
    finally:
        ledger.close()


def paths_of(
    data: Path, blobs: list[str], manifest: str, names: list[str]
) -> list[Path]:
    """Every path in the packs' folder that an install touches."""
    packs = data / "packs"
    draft = packs / "trees" / f".{manifest}.part"
    return [
        *(data, packs, packs / "blobs", packs / "parts", packs / "trees"),
        *(packs / "blobs" / name for name in blobs),
        *(packs / "parts" / f"{name}.part" for name in blobs),
        *(draft, packs / "trees" / manifest),
        *(draft / name for name in names),
    ]


def ledger_paths(data: Path) -> list[Path]:
    """Every path of the database."""
    return [data / f"ota.db{side}" for side in ("", "-wal", "-shm")]


class Tracer:
    """strace on one process."""

    def __init__(
        self, pid: int, paths: list[Path], log: Path, inject: str | None
    ) -> None:
        program = shutil.which("strace")
        if program is None:
            pytest.fail("these tests need strace: apt-get install strace")
        filters = [part for path in paths for part in ("-P", str(path))]
        calls = ",".join(CALLS)
        injected = ["-e", f"inject={inject}"] if inject else []
        self._process = subprocess.Popen(
            [
                *(program, "-f", "-q", "-o", str(log), "-p", str(pid)),
                *(*filters, "-e", f"trace={calls}", *injected),
            ],
            stderr=subprocess.DEVNULL,
        )
        status = Path(f"/proc/{pid}/status")
        deadline = time.monotonic() + PATIENCE_S
        while "TracerPid:\t0\n" in status.read_text():
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def wait(self) -> None:
        self._process.wait(PATIENCE_S)


def points(log: Path) -> list[Point]:
    """Every call of a traced run; calls are counted for each thread alone."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text().splitlines():
        if match := _LINE.match(line):
            counts[(match[1], match[2])] += 1
    most: dict[str, int] = {}
    for (_, call), count in counts.items():
        most[call] = max(most.get(call, 0), count)
    return [
        Point(call, n + 1) for call, count in sorted(most.items()) for n in range(count)
    ]
