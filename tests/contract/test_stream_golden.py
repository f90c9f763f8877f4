"""Control messages of a stream keep their shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import YaoheError
from common.protocol.stream_text import parse_client, parse_server

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "stream.json").read_text("utf-8")
)


@pytest.mark.parametrize("row", GOLDEN["client"], ids=lambda row: row["name"])
def test_a_client_is_understood(row: dict[str, Any]) -> None:
    message = parse_client(row["text"])
    assert type(message).__name__ == row["kind"]
    assert row["fields"].items() <= message.model_dump().items()


@pytest.mark.parametrize("row", GOLDEN["server"], ids=lambda row: row["name"])
def test_a_server_says_it_letter_for_letter(row: dict[str, Any]) -> None:
    message = parse_server(row["text"])
    assert type(message).__name__ == row["kind"]
    assert message.dumps() == row["text"]


@pytest.mark.parametrize("row", GOLDEN["refused"], ids=lambda row: row["name"])
def test_what_is_no_message_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(YaoheError) as refusal:
        parse_client(row["text"])
    assert refusal.value.code == row["code"]
