"""Blobs arrive whole or not at all, from whoever sends them, in any order."""

from __future__ import annotations

import hashlib
import itertools
import random

import pytest

from common.protocol.repair import CHUNK_BYTES
from edge.sync.fetch import MAX_FAULTS, PATIENCE_S, WINDOW_BYTES, Fetch

LIMIT = 4 << 20


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_blob_that_does_not_come_may_come_another_way(clock: Clock) -> None:
    fetch = Fetch(clock)
    fetch.want(digest(b"phrase"), 6, LIMIT)
    assert fetch.late(9, is_line_up=False) == [(digest(b"phrase"), 6)]
    fetch.ask()
    assert fetch.late(9, is_line_up=True) == []
    clock.now += PATIENCE_S + 1
    fetch.ask()
    assert fetch.late(9, is_line_up=True) == [(digest(b"phrase"), 6)]
    assert fetch.take_whole(digest(b"phrase"), b"forged") is None
    assert fetch.take_whole(digest(b"other"), b"other") is None
    assert fetch.take_whole(digest(b"phrase"), b"phrase") == b"phrase"
    assert len(fetch) == 0


def cut(content: bytes) -> list[bytes]:
    return [
        content[at : at + CHUNK_BYTES]
        for at in range(0, max(1, len(content)), CHUNK_BYTES)
    ]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    "size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7]
)
@pytest.mark.parametrize("is_known", [True, False])
def test_blob_of_any_size_arrives(clock: Clock, size: int, is_known: bool) -> None:
    content = random.Random(size).randbytes(size)
    chunks = cut(content)
    if not is_known and size and size % CHUNK_BYTES == 0:
        chunks.append(b"")
    fetch = Fetch(clock)
    fetch.want(digest(content), size if is_known else None, LIMIT)
    order = [*range(len(chunks))] * 2
    random.Random(1).shuffle(order)
    got = [fetch.take(digest(content), i, chunks[i]) for i in order]
    assert [g for g in got if g is not None] == [content]
    assert not len(fetch)


def test_only_what_is_missing_is_asked_for_again(clock: Clock) -> None:
    content = random.Random(0).randbytes(4 * CHUNK_BYTES)
    fetch = Fetch(clock)
    fetch.want(digest(content), len(content), LIMIT)
    (wanted,) = fetch.ask()
    assert (wanted.first, wanted.last) == (0, 3)
    assert fetch.ask() == []
    for index in (0, 2):
        fetch.take(digest(content), index, cut(content)[index])
    clock.now += PATIENCE_S + 1
    (wanted,) = fetch.ask()
    assert (wanted.first, wanted.last) == (1, 3)


def test_patience_grows_with_each_try(clock: Clock) -> None:
    fetch = Fetch(clock)
    fetch.want("0" * 64, 10, LIMIT)
    asked = []
    for _ in range(2000):
        if fetch.ask():
            asked.append(clock.now)
        clock.now += 1
    gaps = [b - a for a, b in itertools.pairwise(asked)]
    assert gaps == sorted(gaps)
    assert gaps[0] <= PATIENCE_S + 1
    assert gaps[-1] >= 60


def test_window_bounds_what_is_on_its_way(clock: Clock) -> None:
    fetch = Fetch(clock)
    for number in range(100):
        fetch.want(f"{number:064x}", 30_000, LIMIT)
    asked = fetch.ask()
    assert 1 < len(asked) <= WINDOW_BYTES // 30_000
    assert fetch.ask() == []


def test_wrong_bytes_are_never_given_out_and_end_being_asked_for(clock: Clock) -> None:
    fetch = Fetch(clock)
    name = digest(b"right")
    for _ in range(MAX_FAULTS):
        fetch.want(name, 5, LIMIT)
        assert fetch.take(name, 0, b"wrong") is None
    assert name in fetch.given_up
    fetch.want(name, 5, LIMIT)
    assert not len(fetch)
    assert fetch.take(name, 0, b"right") is None


def test_chunks_beyond_the_limit_and_of_strangers_are_dropped(clock: Clock) -> None:
    fetch = Fetch(clock)
    fetch.want("0" * 64, None, CHUNK_BYTES)
    assert fetch.take("1" * 64, 0, b"x") is None
    assert fetch.take("0" * 64, 9000, b"x" * CHUNK_BYTES) is None
    assert fetch.take("0" * 64, 0, b"x" * (CHUNK_BYTES + 1)) is None
    assert fetch._blobs["0" * 64].chunks == {}
