"""Catalogue messages from strangers, and how catalogues are compared."""

from __future__ import annotations

import hashlib
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol import cbor
from common.protocol.catalogue import (
    MAX_LOG_ENTRIES,
    Buckets,
    Entry,
    Head,
    Log,
    Snapshot,
    bucket_digests,
    differing,
    root,
    shortened,
)

ENTRIES = st.builds(
    Entry,
    key=st.binary(min_size=16, max_size=16),
    sha256=st.binary(min_size=32, max_size=32),
    size=st.integers(0, 2**22),
    quality=st.integers(0, 100),
    seq=st.integers(0, 2**53 - 1),
    deleted=st.booleans(),
)


def _entry(number: int) -> Entry:
    key = hashlib.sha256(number.to_bytes(4, "big")).digest()
    return Entry(key[:16], key, 20_000, 90, number, False)


def _head(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"v": 1, "chain": "demo", "scope": "all", "epoch": 1}
    values |= {"seq": 2, "floor": 0, "count": 2, "root": bytes(32)}
    return values | {"snapshot": bytes(32), "issued": 1_796_040_000} | changes


@given(st.lists(ENTRIES, max_size=5))
def test_a_log_comes_back_as_it_was(entries: list[Entry]) -> None:
    log = Log(epoch=1, first=0, last=5, entries=entries)
    assert cbor.decode(Log, cbor.encode(log)) == log


def test_fields_and_places_of_a_later_version_are_ignored() -> None:
    head = cbor.decode(Head, cbor.dumps(_head(colour="red")))
    assert head == cbor.decode(Head, cbor.dumps(_head()))
    longer = [*_entry(1), "later"]
    data = cbor.dumps({"v": 1, "epoch": 1, "seq": 1, "entries": [longer]})
    assert cbor.decode(Snapshot, data).entries == [_entry(1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"v": True},
        {"chain": ""},
        {"chain": "demo/+"},
        {"scope": "g"},
        {"chain": b"demo"},
        {"seq": -1},
        {"seq": 2**53},
        {"seq": "2"},
        {"root": bytes(31)},
        {"root": "0" * 32},
        {"issued": None},
    ],
    ids=str,
)
def test_a_head_with_a_wrong_field_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(YaoheError, match=r"not a (message|topic)"):
        cbor.decode(Head, cbor.dumps(_head(**changes)))


def test_limits_of_size_hold() -> None:
    with pytest.raises(YaoheError, match="at most"):
        cbor.decode(Head, bytes(Head.MAX_BYTES + 1))
    many = [list(_entry(number)) for number in range(MAX_LOG_ENTRIES + 1)]
    values = {"v": 1, "epoch": 1, "first": 0, "last": 501}
    assert cbor.decode(Log, cbor.dumps(values | {"entries": many[:-1]}))
    with pytest.raises(YaoheError, match="entries"):
        cbor.decode(Log, cbor.dumps(values | {"entries": many}))


@pytest.mark.parametrize(
    ("spelling", "why"),
    [
        ("1801", "another spelling"),
        ("190018", "another spelling"),
        ("a2616200616100", "another spelling"),
        ("a2616100616100", "another spelling"),
        ("a0a0", "bytes after the end"),
        ("9fff", "indefinite"),
        ("5f4100ff", "indefinite"),
        ("f90000", "float"),
        ("fb0000000000000000", "float"),
        ("f7", "simple value"),
        ("d8236161", "tag"),
        ("d81c80", "tag"),
        ("c2420100", "tag"),
        ("a10000", "not text"),
        ("61ff", "not a message"),
    ],
)
def test_every_other_spelling_is_refused(spelling: str, why: str) -> None:
    with pytest.raises(YaoheError, match=why):
        cbor.loads(bytes.fromhex(spelling), limit=64)


def test_a_nesting_bomb_is_refused() -> None:
    with pytest.raises(YaoheError, match="deeper"):
        cbor.loads(b"\x81" * 60_000 + b"\x00", limit=64 * 1024)


def test_a_forged_length_costs_nothing() -> None:
    with pytest.raises(YaoheError, match="cut short"):
        cbor.loads(bytes.fromhex("bbffffffffffffffff6100"), limit=64)
    with pytest.raises(YaoheError, match="cut short"):
        cbor.loads(bytes.fromhex("5bffffffffffffffff00"), limit=64)


@pytest.mark.parametrize(
    "value", [1.5, {1: 2}, {b"a": 1}, (cbor2.CBORTag(35, "a{9}"),)]
)
def test_what_no_message_holds_is_refused(value: object) -> None:
    with pytest.raises(YaoheError, match="not a message"):
        cbor.loads(cbor2.dumps(value, canonical=True), limit=64)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64 - 1) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN | st.binary(max_size=300))
def test_plain_values_come_back_as_they_were(value: object) -> None:
    assert cbor.loads(cbor.dumps(value), limit=64 * 1024) == value


@given(PLAIN)
def test_the_spelling_is_what_the_rfc_calls_deterministic(value: object) -> None:
    assert cbor.dumps(value) == _by_hand(value)


def _by_hand(value: Any) -> bytes:
    """RFC 8949, section 4.2.3: shortest heads, names by length and then by bytes."""
    if value is None or isinstance(value, bool):
        return bytes([{False: 0xF4, True: 0xF5, None: 0xF6}[value]])
    if isinstance(value, int):
        return _head_of(1, -1 - value) if value < 0 else _head_of(0, value)
    if isinstance(value, str):
        return _head_of(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return _head_of(4, len(value)) + b"".join(map(_by_hand, value))
    pairs = sorted(
        ((_by_hand(name), _by_hand(item)) for name, item in value.items()),
        key=lambda pair: (len(pair[0]), pair[0]),
    )
    return _head_of(5, len(pairs)) + b"".join(name + item for name, item in pairs)


def _head_of(major: int, count: int) -> bytes:
    if count < 24:
        return bytes([major << 5 | count])
    size = next(n for n in (0, 1, 2, 3) if count < 256 ** (1 << n))
    return bytes([major << 5 | 24 + size]) + count.to_bytes(1 << size, "big")


def _attempt(kind: type[cbor.Message], data: bytes) -> cbor.Message | YaoheError:
    try:
        return cbor.decode(kind, data)
    except YaoheError as error:
        return error


def _read(data: bytes) -> None:
    for kind in (Head, Log, Snapshot, Buckets):
        result = _attempt(kind, data)
        if isinstance(result, YaoheError):
            assert result.code == "invalid_request"
        else:
            assert cbor.decode(kind, cbor.encode(result)) == result


@given(st.binary(max_size=200))
def test_any_bytes_give_a_message_or_an_error_of_ours(data: bytes) -> None:
    _read(data)


@given(PLAIN)
def test_any_plain_value_gives_a_message_or_an_error_of_ours(value: object) -> None:
    _read(cbor.dumps(value))


WHOLE = cbor.encode(Log(epoch=1, first=0, last=2, entries=[_entry(1), _entry(2)]))


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3))
def test_a_damaged_log_gives_a_message_or_an_error_of_ours(
    place: int, bits: bytes
) -> None:
    _read(WHOLE[:place] + bits + WHOLE[place + 1 :])


def test_buckets_that_differ_are_found() -> None:
    ours = [_entry(number) for number in range(500)]
    theirs = [*ours[:-1], ours[-1]._replace(size=1)]
    a, b = (shortened(bucket_digests(entries)) for entries in (ours, theirs))
    assert differing(a, b) == [ours[-1].key[0]]
    assert differing(a, a) == []
    assert root(bucket_digests(ours)) != root(bucket_digests(theirs))


def test_the_way_to_a_catalogue_does_not_count() -> None:
    ours = [_entry(number) for number in range(50)]
    theirs = [entry._replace(seq=entry.seq + 7) for entry in reversed(ours)]
    gone = Entry(b"\xaa" * 16, bytes(32), 0, 0, 99, True)
    assert bucket_digests(ours) == bucket_digests([gone, *theirs])
