"""Damaged messages: every parser of a stream answers, in one of two ways."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.protocol.stream_text import parse_client, parse_server, stream_of

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "contract" / "golden" / "stream.json").read_text(
        "utf-8"
    )
)
ROUNDS = 4000
SEED = 20_261_130
STRANGE = ("\x00", "\udfff", "{", "[", '"', "\\ud800", "1e999", "-0", "null", "NaN")


def damaged(whole: str, chance: random.Random) -> str:
    text = list(whole)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(text) + 1)
        end = min(len(text), place + chance.randint(1, 8))
        match chance.randrange(4):
            case 0 if place < len(text):
                text[place] = chr(ord(text[place]) ^ 1 << chance.randrange(8))
            case 1:
                del text[place:end]
            case 2:
                text[place:place] = text[place:end]
            case _:
                text[place:place] = chance.choice(STRANGE)
    return "".join(text)


def complaint(parse: Callable[[str], object], text: str) -> YaoheError | None:
    try:
        parse(text)
    except YaoheError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("parse", "side"), [(parse_client, "client"), (parse_server, "server")]
)
def test_damage_gives_a_message_or_an_error_of_ours(
    parse: Callable[[str], object], side: str
) -> None:
    chance = random.Random(SEED)
    corpus = [row["text"] for row in GOLDEN[side]]
    refused = 0
    for _ in range(ROUNDS):
        text = damaged(chance.choice(corpus), chance)
        assert stream_of(text) is None or stream_of(text) in range(2**32)
        if error := complaint(parse, text):
            refused += 1
            assert 400 <= error.status < 500, text
            json.dumps(error.as_body(), ensure_ascii=False).encode()
    assert refused > ROUNDS // 10


def test_a_message_that_is_too_long_or_too_deep_is_refused() -> None:
    for text in ('{"type": "text", "text": "' + "x" * 70_000 + '"}', "[" * 60_000):
        with pytest.raises(YaoheError):
            parse_client(text)
        assert stream_of(text) is None
