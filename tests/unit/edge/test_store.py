from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlite_utils
from sqlite_utils import Migrations

from edge.db import KEEP_ASIDE, DatabaseGone, Store

WAIT_S = 20.0


def migrations() -> Migrations:
    made = Migrations("test")

    @made()
    def m001(db: sqlite_utils.Database) -> None:
        db.table("things").create({"id": int, "name": str}, pk="id")

    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "things.db"


def opened(path: Path) -> Store:
    store = Store(path, migrations())
    assert store.wait_settled(WAIT_S)
    return store


def insert(store: Store, name: str) -> None:
    store.write(lambda db: db.table("things").insert({"name": name})).result(WAIT_S)


def names(store: Store) -> list[str]:
    return [row["name"] for row in store.read("SELECT name FROM things ORDER BY id")]


def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    store = opened(path)
    insert(store, "a")
    store.close()
    store = opened(path)
    assert names(store) == ["a"]
    store.close()


def test_the_writer_syncs_fully_and_logs_ahead(path: Path) -> None:
    store = opened(path)
    pragmas = store.write(
        lambda db: (
            db.conn.execute("PRAGMA synchronous").fetchone()[0],
            db.conn.execute("PRAGMA journal_mode").fetchone()[0],
        )
    ).result(WAIT_S)
    store.close()
    assert pragmas == (2, "wal")


def test_many_threads_write_without_losing_a_row(path: Path) -> None:
    store = opened(path)

    def fill(number: int) -> None:
        for step in range(25):
            insert(store, f"{number}.{step}")
            assert store.read("SELECT count(*) FROM things")[0][0] > 0

    threads = [threading.Thread(target=fill, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names(store))) == 200
    store.close()


def test_a_change_that_fails_leaves_nothing_behind(path: Path) -> None:
    store = opened(path)

    def change(db: sqlite_utils.Database) -> None:
        db.table("things").insert({"name": "half"})
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.write(change).result(WAIT_S)
    insert(store, "after")
    assert names(store) == ["after"]
    store.close()


def test_a_file_of_garbage_is_moved_aside_and_replaced(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 500)
    store = opened(path)
    assert store.rebuilt == 1
    insert(store, "new")
    assert names(store) == ["new"]
    assert path.with_name("things.db.damaged.1").read_bytes().startswith(b"no data")
    store.close()


def test_pages_damaged_while_running_are_noticed_and_replaced(path: Path) -> None:
    store = opened(path)
    for number in range(50):
        insert(store, f"{number}" * 200)
    store.write(lambda db: db.conn.execute("SELECT 1")).result(WAIT_S)
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096 * 3)
    store = opened(path)
    assert store.rebuilt == 1
    assert names(store) == []
    insert(store, "again")
    assert names(store) == ["again"]
    store.close()


def test_a_reader_that_meets_damage_gets_the_file_replaced(path: Path) -> None:
    store = opened(path)
    for number in range(50):
        insert(store, f"{number}" * 200)
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    other.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(DatabaseGone):
        names(store)
    # The writer may still refuse what waited behind the damage, and then never again.
    with contextlib.suppress(DatabaseGone):
        insert(store, "waited")
    insert(store, "works")
    assert "works" in names(store)
    assert store.rebuilt == 1
    store.close()


def test_old_damaged_files_do_not_fill_the_disk(path: Path) -> None:
    path.parent.mkdir()
    for _ in range(KEEP_ASIDE + 3):
        path.write_bytes(b"garbage" * 1000)
        opened(path).close()
    kept = sorted(p.name for p in path.parent.glob("things.db.damaged.*"))
    assert kept == ["things.db.damaged.4", "things.db.damaged.5"]


def test_a_folder_that_cannot_be_made_refuses_writes_and_does_not_crash(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file" / "things.db", migrations())
    with pytest.raises(DatabaseGone):
        insert(store, "x")
    with pytest.raises(DatabaseGone):
        names(store)
    (tmp_path / "file").unlink()
    insert(store, "now it works")
    assert names(store) == ["now it works"]
    store.close()


def test_a_closed_store_refuses_instead_of_hanging(path: Path) -> None:
    store = opened(path)
    store.close()
    store.close()
    with pytest.raises(DatabaseGone):
        insert(store, "late")


def test_a_deferred_reader_does_not_block_the_writer(path: Path) -> None:
    store = opened(path)
    insert(store, "a")
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM things").fetchone()[0] == 1
    insert(store, "b")
    assert reader.execute("SELECT count(*) FROM things").fetchone()[0] == 1
    reader.close()
    assert names(store) == ["a", "b"]
    store.close()


LIVE = """
import os, resource, signal, sys
from pathlib import Path
from tests.unit.edge.test_store import WAIT_S, insert, migrations, names
from edge.db import DatabaseGone, Store

path, act = Path(sys.argv[1]), sys.argv[2]
if act == "full":
    # Nothing grows beyond what is there, as on a disk without space.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    sides = [side for side in path.parent.iterdir() if side != path]
    there = max((side.stat().st_size for side in sides), default=0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (there, most))
store = Store(path, migrations())
can_read = store.wait_settled(WAIT_S)
if act == "full":
    try:
        insert(store, "no room")
    except DatabaseGone:
        print(*names(store) if can_read else ["gone"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
insert(store, act)
if act == "full":
    print(*names(store))
if act == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
store.close()
"""


def live(root: Path, path: Path, act: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LIVE, str(path), act],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_file_on_a_full_disk_is_read_and_written_again_when_there_is_room(
    root: Path, path: Path, end: str
) -> None:
    live(root, path, end)
    has_log = path.with_name(f"{path.name}-wal").exists()
    assert has_log == (end == "killed")
    assert live(root, path, "full") == [end, f"{end} full"]


def test_a_full_disk_hides_no_damage(root: Path, path: Path) -> None:
    live(root, path, "closed")
    content = bytearray(path.read_bytes())
    # The map of pages: rows can still be read, and a check finds the damage.
    content[4096:8192] = b"garbage " * 512
    path.write_bytes(content)
    assert live(root, path, "full") == ["gone", "full"]
    assert path.with_name(f"{path.name}.damaged.1").exists()
