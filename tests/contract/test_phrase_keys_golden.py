"""Phrase keys are the same on every machine and for ever."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from common.phrase import KEY_FORMAT, key_bytes, phrase_key
from common.text.symbols import Symbol

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "phrase_keys.json").read_text("utf-8")
)


@pytest.mark.parametrize("row", GOLDEN["keys"], ids=lambda row: row["name"])
def test_a_phrase_keeps_its_key(row: dict[str, Any]) -> None:
    symbols = [Symbol(*numbers) for numbers in row["symbols"]]
    inputs = {name: row[name] for name in ("voice", "dialect", "speed")}
    key = phrase_key(symbols, pitch=row["pitch"], volume=row["volume"], **inputs)
    assert key == row["key"]


def test_all_that_changes_the_sound_changes_the_key() -> None:
    keys = {row["name"]: row["key"] for row in GOLDEN["keys"]}
    same = keys.pop("speed counts in thousandths")
    assert same == keys["a phrase as it is"]
    assert len(set(keys.values())) == len(keys)


def test_the_bytes_under_a_key_are_plain_canonical_cbor() -> None:
    row = GOLDEN["keys"][-1]
    symbols = [Symbol(*numbers) for numbers in row["symbols"]]
    data = key_bytes(
        symbols, voice="woman", dialect="zh", speed=1000, pitch=0, volume=0
    )
    assert data.hex() == GOLDEN["bytes_of_the_last"]
    assert hashlib.sha256(data).digest()[:16].hex() == row["key"]
    assert GOLDEN["format"] == KEY_FORMAT
