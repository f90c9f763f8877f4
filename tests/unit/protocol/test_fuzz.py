"""Golden bytes, damaged thousands of times: every parser answers, in one of two ways."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.protocol import cbor, contours, frames, manifest, topics
from common.protocol.catalogue import Head, Log, Snapshot
from common.protocol.synthesis import parse_speech

GOLDEN = Path(__file__).parents[2] / "contract" / "golden"
ROUNDS = 5_000
"""Damaged inputs for each parser."""
SEED = 20_261_130
STRANGE = (b"\x00", b"\xff", b"\x7f", b"{", b"[", b'"', b"\\ud800", b"1e999", b"\x9b")


def _golden(name: str) -> dict[str, list[dict[str, str]]]:
    content: dict[str, list[dict[str, str]]] = json.loads(
        (GOLDEN / name).read_text("utf-8")
    )
    return content


def _catalogue(name: str) -> list[bytes]:
    return [bytes.fromhex(str(_golden("catalogue.json")[name]))]


def _speech(data: bytes) -> object:
    """A request as a server decodes it before it is validated."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        values = None
    return parse_speech(values)


SPEECH = json.dumps(
    {"input": "今日特价", "voice": {"id": "man"}, "speed": 1.5, "dialect": "gd"}
    | {"response_format": "opus", "seed": 7, "receipt": True, "pitch": -2.0}
).encode()

PARSERS: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
    "frames": (
        frames.unpack,
        [bytes.fromhex(row["bytes"]) for row in _golden("frames.json")["frames"]],
    ),
    "topics": (
        lambda data: topics.parse(data.decode("utf-8", "surrogateescape")),
        [row["topic"].encode() for row in _golden("topics.json")["topics"]],
    ),
    "contours": (
        contours.parse_contours,
        [(GOLDEN / "contours.json").read_bytes()],
    ),
    "manifests": (manifest.parse_manifest, [(GOLDEN / "manifest.json").read_bytes()]),
    "heads": (lambda data: cbor.decode(Head, data), _catalogue("head_bytes")),
    "logs": (lambda data: cbor.decode(Log, data), _catalogue("log_bytes")),
    "snapshots": (
        lambda data: cbor.decode(Snapshot, data),
        _catalogue("snapshot_bytes"),
    ),
    "speech requests": (_speech, [SPEECH]),
}


def _damaged(whole: bytes, chance: random.Random) -> bytes:
    """Flip, cut, double, insert or overwrite, up to three times."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.randint(1, 8))
        match chance.randrange(5):
            case 0 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                del data[place:end]
            case 2:
                data[place:place] = data[place:end]
            case 3:
                data[place:place] = chance.choice(STRANGE)
            case _:
                data[place:end] = chance.randbytes(end - place)
    return bytes(data)


def _complaint(parse: Callable[[bytes], object], data: bytes) -> YaoheError | None:
    try:
        parse(data)
    except YaoheError as error:
        return error
    return None


@pytest.mark.parametrize(("parse", "corpus"), PARSERS.values(), ids=PARSERS.keys())
def test_damage_gives_a_value_or_an_error_of_ours(
    parse: Callable[[bytes], object], corpus: list[bytes]
) -> None:
    chance = random.Random(SEED)
    for whole in corpus:
        assert _complaint(parse, whole) is None
    refused = 0
    for _ in range(ROUNDS):
        data = _damaged(chance.choice(corpus), chance)
        if error := _complaint(parse, data):
            refused += 1
            assert 400 <= error.status < 500, data
            json.dumps(error.as_body(), ensure_ascii=False).encode()
    assert refused > ROUNDS // 10
