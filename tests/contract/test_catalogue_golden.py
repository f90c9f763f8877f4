"""Catalogue messages keep their bytes, and their digests what they stand on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import YaoheError
from common.protocol.catalogue import (
    Buckets,
    Entry,
    Head,
    Log,
    Snapshot,
    bucket_digests,
    root,
    shortened,
)
from common.protocol.cbor import decode, encode

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "catalogue.json").read_text("utf-8")
)
BINARY = ("key", "sha256", "root", "snapshot")


def _binary(row: dict[str, Any]) -> dict[str, Any]:
    return {k: bytes.fromhex(v) if k in BINARY else v for k, v in row.items()}


ENTRIES = [Entry(**_binary(row)) for row in GOLDEN["entries"]]
LIVE = sorted(entry for entry in ENTRIES if not entry.deleted)


def test_a_head_keeps_its_bytes_and_is_small() -> None:
    head = Head(**_binary(GOLDEN["head"]))
    assert encode(head).hex() == GOLDEN["head_bytes"]
    assert decode(Head, bytes.fromhex(GOLDEN["head_bytes"])) == head
    assert len(encode(head)) < 300


def test_a_log_keeps_its_bytes() -> None:
    log = Log(epoch=1, first=3, last=5, entries=ENTRIES[3:])
    assert encode(log).hex() == GOLDEN["log_bytes"]
    assert decode(Log, bytes.fromhex(GOLDEN["log_bytes"])) == log


def test_a_snapshot_keeps_its_bytes_and_the_head_names_them() -> None:
    data = encode(Snapshot(epoch=1, seq=5, entries=LIVE))
    assert data.hex() == GOLDEN["snapshot_bytes"]
    assert hashlib.sha256(data).hexdigest() == GOLDEN["head"]["snapshot"]


def test_the_root_stands_on_what_is_not_deleted() -> None:
    assert root(bucket_digests(ENTRIES)).hex() == GOLDEN["root"]
    assert root(bucket_digests(reversed(LIVE))).hex() == GOLDEN["root"]


def test_bucket_digests_keep_their_bytes() -> None:
    message = Buckets(epoch=1, seq=5, digests=shortened(bucket_digests(ENTRIES)))
    data = encode(message)
    assert hashlib.sha256(data).hexdigest() == GOLDEN["buckets_sha256"]
    assert decode(Buckets, data) == message


@pytest.mark.parametrize("row", GOLDEN["refused"], ids=lambda row: row["name"])
def test_bytes_that_are_no_head_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(YaoheError, match="not a message") as refusal:
        decode(Head, bytes.fromhex(row["bytes"]))
    assert refusal.value.code == "invalid_request"
