"""Events and what acknowledges them keep their bytes; the first release is understood."""

from __future__ import annotations

import json
from pathlib import Path

from common.protocol import cbor, reports
from common.protocol.repair import Heard, Reply
from common.protocol.reports import Event

GOLDEN = json.loads((Path(__file__).parent / "golden" / "line.json").read_text("utf-8"))
EVENT = Event(
    life="0a1b", number=7, oldest=5, kind="door", at=1_800_000_000, body={"n": 1}
)


def test_an_event_keeps_its_spelling() -> None:
    assert reports.encode(EVENT).decode() == GOLDEN["event"]
    assert reports.decode(Event, GOLDEN["event"].encode()) == EVENT


def test_an_event_of_the_first_release_is_understood() -> None:
    event = reports.decode(Event, GOLDEN["event_of_the_first_release"].encode())
    assert event == EVENT.model_copy(update={"oldest": 0})


def test_an_acknowledgement_keeps_its_spelling() -> None:
    reply = Reply(heard=[Heard("0a1b", 7), Heard("ff", 0)])
    assert cbor.encode(reply).hex() == GOLDEN["heard"]
    assert cbor.decode(Reply, bytes.fromhex(GOLDEN["heard"])) == reply


def test_a_reply_of_the_first_release_is_understood() -> None:
    reply = cbor.decode(Reply, bytes.fromhex(GOLDEN["reply_of_the_first_release"]))
    assert (reply.scope, reply.log, reply.heard) == ("all", b"\x01\x02", [])
