from __future__ import annotations

import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edge.cache import Cache
from edge.db import DatabaseGone
from edge.rendition import Rendition, value

WAIT_S = 20.0
PACK = "p" * 64
NOW = 1_800_000_000.0

BASE = Rendition(
    phrase_key="k" * 32,
    origin="pack",
    engine="packed",
    pack="starter@1",
    pack_sha256=PACK,
    seed=None,
    table_version=1,
    rules_version=1,
    quality=50,
    verified=True,
    text="今日特价",
    voice="woman",
    dialect="zh",
    symbols_sha256="s" * 64,
    lexicon_sha256="",
    enforced=True,
    duration_ms=1500,
    render_ms=20,
    master=b"master" * 100,
)


def opened(path: Path, budget: int = 10_000_000, min_free: int = 0) -> Cache:
    cache = Cache(path, budget_bytes=budget, min_free_bytes=min_free, now=lambda: NOW)
    assert cache.store.wait_settled(WAIT_S)
    return cache


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    cache = opened(tmp_path / "cache.db")
    yield cache
    cache.close()


def put(cache: Cache, **changes: object) -> int:
    return cache.put(dataclasses.replace(BASE, **changes)).result(WAIT_S)  # type: ignore[arg-type]


def found(cache: Cache, **asked: object) -> Rendition | None:
    hit = cache.best(BASE.phrase_key, **({"pack_sha256": PACK} | asked))  # type: ignore[arg-type]
    return hit.rendition if hit else None


def test_what_was_put_comes_back_unchanged(cache: Cache) -> None:
    put(cache)
    assert found(cache) == BASE


def test_an_unknown_phrase_is_a_miss(cache: Cache) -> None:
    assert found(cache) is None


def test_a_verified_cloud_rendition_beats_the_active_pack(cache: Cache) -> None:
    put(cache, origin="cloud", engine="chattts", pack_sha256="", master=b"cloud")
    put(cache)
    assert found(cache).master == b"cloud"  # type: ignore[union-attr]


def test_an_unverified_cloud_rendition_is_never_played(cache: Cache) -> None:
    put(cache, origin="cloud", engine="chattts", pack_sha256="", verified=False)
    assert found(cache) is None


def test_another_packs_rendition_is_stale_and_a_clouds_survives(cache: Cache) -> None:
    put(cache)
    assert found(cache, pack_sha256="q" * 64) is None
    put(cache, origin="cloud", engine="chattts", pack_sha256="", master=b"cloud")
    assert found(cache, pack_sha256="q" * 64).master == b"cloud"  # type: ignore[union-attr]


def test_what_was_streamed_counts_where_the_cloud_would_be_asked(cache: Cache) -> None:
    put(cache)
    put(cache, origin="stream", quality=0, pack_sha256="c" * 64, master=b"stream")
    assert found(cache) == BASE
    assert found(cache, pack_sha256="") is None
    for asked in ({}, {"pack_sha256": ""}, {"min_quality": 99}):
        hit = found(cache, streamed=True, **asked)
        assert hit is not None
        assert hit.master == b"stream"
    put(cache, origin="cloud", engine="chattts", pack_sha256="", master=b"cloud")
    assert found(cache, streamed=True).master == b"cloud"  # type: ignore[union-attr]


def test_what_was_streamed_unverified_is_never_played(cache: Cache) -> None:
    put(cache, origin="stream", verified=False)
    assert found(cache, streamed=True) is None


def test_a_rendition_below_the_asked_quality_does_not_count(cache: Cache) -> None:
    put(cache, quality=50)
    assert found(cache, min_quality=51) is None
    assert found(cache, min_quality=50) is not None


def test_a_second_rendition_of_the_same_pack_replaces_the_first(cache: Cache) -> None:
    put(cache, master=b"one")
    put(cache, master=b"two")
    assert found(cache).master == b"two"  # type: ignore[union-attr]
    assert cache.stats().renditions == 1


@pytest.mark.parametrize("changes", [{"master": b""}, {"duration_ms": 0}])
def test_a_rendition_without_sound_is_never_kept(
    cache: Cache, changes: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match="without sound"):
        put(cache, **changes)
    assert cache.stats().renditions == 0


def test_a_master_with_a_flipped_byte_is_dropped_and_not_played(
    tmp_path: Path,
) -> None:
    cache = opened(tmp_path / "cache.db")
    put(cache)
    cache.store.write(
        lambda db: db.conn.execute("UPDATE renditions SET master = x'00'")
    ).result(WAIT_S)
    assert found(cache) is None
    cache.close()
    cache = opened(tmp_path / "cache.db")
    assert cache.stats().renditions == 0
    cache.close()


def test_plays_are_counted(tmp_path: Path) -> None:
    cache = opened(tmp_path / "cache.db")
    row = put(cache)
    for _ in range(100):
        cache.count_play(row)
    cache.close()
    plays = (
        sqlite3.connect(tmp_path / "cache.db")
        .execute("SELECT plays FROM renditions")
        .fetchone()[0]
    )
    assert plays == 100


def test_the_least_valuable_leaves_when_the_budget_is_full(tmp_path: Path) -> None:
    cache = opened(tmp_path / "cache.db", budget=10_000)
    for number in range(10):
        row = put(cache, phrase_key=f"{number:032}", master=bytes(1000))
        if number % 2:
            cache.count_play(row)
    cache.flush_plays()
    put(cache, phrase_key="f" * 32, master=bytes(1000))
    kept = {
        row["phrase_key"]
        for row in cache.store.read("SELECT phrase_key FROM renditions")
    }
    assert {f"{n:032}" for n in range(1, 10, 2)} <= kept
    assert "f" * 32 in kept
    assert cache.stats().size_bytes <= 9_000
    assert cache.evicted == 2
    cache.close()


def test_value_grows_with_plays_and_cost_and_shrinks_with_size_and_age() -> None:
    base = value((1000, 1, NOW, 100, "pack"), NOW)
    assert value((1000, 5, NOW, 100, "pack"), NOW) > base
    assert value((1000, 1, NOW, 900, "pack"), NOW) > base
    assert value((1000, 1, NOW, 100, "cloud"), NOW) > base
    assert value((9000, 1, NOW, 100, "pack"), NOW) < base
    assert value((1000, 1, NOW - 10**7, 100, "pack"), NOW) < base


def test_one_that_is_larger_than_the_budget_is_refused(tmp_path: Path) -> None:
    cache = opened(tmp_path / "cache.db", budget=100)
    with pytest.raises(ValueError, match="larger"):
        put(cache, master=bytes(101))
    cache.close()


def test_a_nearly_full_disk_keeps_what_is_there_and_takes_no_more(
    tmp_path: Path,
) -> None:
    cache = opened(tmp_path / "cache.db")
    put(cache)
    cache.close()
    cache = opened(tmp_path / "cache.db", min_free=10**18)
    with pytest.raises(DatabaseGone, match="full"):
        put(cache, master=b"other")
    assert found(cache) == BASE
    cache.close()


def test_a_folder_that_was_taken_away_keeps_nothing_and_breaks_nothing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    cache = opened(folder / "cache.db")
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(DatabaseGone):
        put(cache)
    cache.close()


def test_a_damaged_file_gives_misses_and_then_works_again(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(os.urandom(100_000))
    cache = opened(path)
    assert found(cache) is None
    put(cache)
    assert found(cache) == BASE
    assert cache.stats().rebuilt == 1
    cache.close()


WRITER = """
import sys
from pathlib import Path
from edge.cache import Cache
from edge.rendition import Rendition

values = {values!r}

def main():
    cache = Cache(Path(sys.argv[1]), budget_bytes=10**9, min_free_bytes=0,
                  now=lambda: 1.8e9)
    cache.store.wait_settled(20)
    number = 0
    while True:
        key = f"{{number:032}}"
        one = Rendition(**(values | {{"phrase_key": key, "master": key.encode() * 500}}))
        cache.put(one).result()
        sys.stdout.write(key + "\\n")
        sys.stdout.flush()
        number += 1

main()
"""


def test_nothing_acknowledged_is_lost_by_kill_minus_nine(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    program = WRITER.format(values=dataclasses.asdict(BASE))
    acknowledged: set[str] = set()
    for turn in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert process.stdout is not None
        for _ in range(20 + turn * 7):
            acknowledged.add(process.stdout.readline().strip())
        process.send_signal(signal.SIGKILL)
        acknowledged |= {line.strip() for line in process.stdout if line.endswith("\n")}
        process.wait()
        process.stdout.close()
    assert len(acknowledged) > 20
    cache = opened(path)
    for key in acknowledged:
        hit = cache.best(key, pack_sha256=PACK)
        assert hit is not None, key
        assert hit.rendition.master == key.encode() * 500
    assert cache.stats().rebuilt == 0
    cache.close()
