"""Audio frames keep their bytes."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest

from common.errors import YaoheError
from common.protocol.frames import NO_FLAGS, Codec, Flags, Frame, pack, unpack

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "frames.json").read_text("utf-8")
)


def _frame(row: dict[str, Any]) -> Frame:
    return Frame(
        stream=row["stream"],
        seq=row["seq"],
        timestamp=row["timestamp"],
        codec=Codec[row["codec"]],
        payload=bytes.fromhex(row["payload"]),
        flags=reduce(or_, map(Flags.__getitem__, row["flags"]), NO_FLAGS),
    )


@pytest.mark.parametrize("row", GOLDEN["frames"], ids=lambda row: row["name"])
def test_a_frame_keeps_its_bytes(row: dict[str, Any]) -> None:
    assert pack(_frame(row)).hex() == row["bytes"]
    assert unpack(bytes.fromhex(row["bytes"])) == _frame(row)


@pytest.mark.parametrize("row", GOLDEN["refused"], ids=lambda row: row["name"])
def test_bytes_that_are_no_frame_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(YaoheError, match="not an audio frame") as refusal:
        unpack(bytes.fromhex(row["bytes"]))
    assert refusal.value.code == "invalid_request"
