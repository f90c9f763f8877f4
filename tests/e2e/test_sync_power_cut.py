"""A catalogue is applied whole or not at all: killed, or out of space, at any write."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.protocol.catalogue import Entry, Head, bucket_digests, root
from edge.sync.book import Book
from edge.sync.replica import Adoption

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing"),
]
TIMEOUT_S = 300
MAX_CALLS = 60
"""More system calls of a kind than one commit makes."""
OLD, NEW = 40, 55

CHILD = """
import sys
from pathlib import Path
from tests.e2e.test_sync_power_cut import adopt, NEW, OLD
from edge.db import DatabaseGone
from edge.sync.book import Book

book = Book(Path(sys.argv[1]), 100)
book.open()
for _ in range(3):
    try:
        adopt(book, NEW)
    except DatabaseGone:
        continue
    break
else:
    sys.exit("space came back, and it was not used")
book.close()
"""


def entries(count: int) -> list[Entry]:
    """A catalogue in which every second phrase changes with its size."""
    return [
        Entry(
            bytes([number] * 16),
            bytes([number, count if number % 2 else 0] * 16),
            *(100, 80, number),
            deleted=False,
        )
        for number in range(count - 35, count)
    ]


def state_root(count: int) -> bytes:
    return root(bucket_digests(entries(count)))


def adopt(book: Book, count: int) -> None:
    """Commit a catalogue over whatever is there."""
    replica = book.replica("all")
    wanted = {entry.key: entry for entry in entries(count)}
    head = Head(
        chain="tea",
        scope="all",
        epoch=1,
        seq=count,
        floor=0,
        count=len(wanted),
        root=state_root(count),
        snapshot=bytes(32),
        issued=count,
    )
    changed = tuple(e for k, e in wanted.items() if replica.entries.get(k) != e)
    removed = tuple(k for k in replica.entries if k not in wanted)
    book.commit(Adoption(head, wanted, changed, removed)).result()


def committed(path: Path) -> tuple[int, bytes]:
    """Number and root of what a box would find after the power came back."""
    book = Book(path, 100)
    book.open()
    assert book.store.rebuilt == 0
    replica = book.replica("all")
    book.close()
    return replica.seq, root(bucket_digests(replica.entries.values()))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("before")
    book = Book(folder / "sync.db", 100)
    book.open()
    adopt(book, OLD)
    book.close()
    return folder


def runs(
    before: Path, tmp_path: Path, repository: Path, fault: str
) -> Iterator[tuple[Path, int]]:
    """Apply the new catalogue with a fault at the first call, the second, and so on."""
    for call in range(1, MAX_CALLS):
        place = tmp_path / str(call)
        shutil.copytree(before, place)
        calls = fault.split(":")[0]
        done = subprocess.run(
            [
                *("strace", "-f", "-qq", "-o", str(place / "trace")),
                *("-e", f"trace={calls}", "-e", f"inject={fault}:when={call}"),
                *(sys.executable, "-c", CHILD, str(place / "sync.db")),
            ],
            cwd=repository,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        trace = (place / "trace").read_text("utf-8", "replace")
        (place / "trace").unlink()
        yield place / "sync.db", done.returncode
        if "INJECTED" not in trace and "killed by SIGKILL" not in trace:
            return
    pytest.fail("the faults never end")


# Opening a clean file syncs nothing, so the first sync is the commit's own: the log is
# written by then, and a kill, unlike a power cut, loses nothing that was written.
@pytest.mark.parametrize(
    ("calls", "first"), [("fdatasync,fsync", NEW), ("pwrite64", OLD)]
)
def test_killed_at_any_write_the_old_or_the_new_catalogue_stands(
    before: Path, tmp_path: Path, root: Path, calls: str, first: int
) -> None:
    found = []
    for path, code in runs(before, tmp_path, root, f"{calls}:signal=KILL"):
        seq, digest = committed(path)
        assert (seq, digest) in (
            (OLD, state_root(OLD)),
            (NEW, state_root(NEW)),
        )
        found.append((code, seq))
    assert found[0][0] != 0
    assert found[0][1] == first
    assert found[-1] == (0, NEW)
    assert len(found) > 2


def test_without_space_at_any_write_nothing_is_half_and_it_is_tried_again(
    before: Path, tmp_path: Path, root: Path
) -> None:
    codes = []
    for path, code in runs(before, tmp_path, root, "pwrite64:error=ENOSPC"):
        assert committed(path) == (NEW, state_root(NEW))
        codes.append(code)
    assert set(codes) == {0}
    assert len(codes) > 2
