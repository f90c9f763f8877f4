"""Every parser of the line: any bytes give a message or one error, never another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol import cbor, reports
from common.protocol.rendition import SentRendition
from common.protocol.repair import Need, Reply, Wanted
from common.protocol.reports import (
    Birth,
    EnrolAnswer,
    Enrolled,
    EnrolRequest,
    Event,
    State,
)
from common.trust.claim import (
    ALPHABET,
    Claim,
    is_proof,
    new_claim,
    parse_claim,
    proof,
)

REPORTS = [Birth, State, Event, EnrolRequest, Enrolled, EnrolAnswer]
MESSAGES = [Need, Reply, SentRendition]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
COUNTER = st.integers(0, 2**53 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def refused_or_read(read: Any, *args: object) -> None:
    code = "invalid_request"
    try:
        read(*args)
    except YaoheError as error:
        code = error.code
    assert code == "invalid_request"


@pytest.mark.parametrize("kind", REPORTS)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_report_or_refused(kind: Any, data: bytes) -> None:
    refused_or_read(reports.decode, kind, data)


@pytest.mark.parametrize("kind", REPORTS)
@settings(max_examples=60, deadline=None)
@given(values=st.data())
def test_any_json_in_a_reports_place_is_a_report_or_refused(
    kind: Any, values: st.DataObject
) -> None:
    fields = {name: values.draw(JSON) for name in kind.model_fields}
    fields["v"] = 1
    refused_or_read(reports.decode, kind, json.dumps(fields).encode())


@pytest.mark.parametrize("kind", MESSAGES)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(kind: Any, data: bytes) -> None:
    refused_or_read(cbor.decode, kind, data)


@pytest.mark.parametrize("kind", MESSAGES)
@settings(max_examples=60, deadline=None)
@given(values=st.data())
def test_any_values_in_a_messages_place_are_a_message_or_refused(
    kind: Any, values: st.DataObject
) -> None:
    plain = st.recursive(
        st.none() | st.booleans() | COUNTER | st.binary(max_size=40),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=6,
    )
    fields = {name: values.draw(plain) for name in kind.model_fields} | {"v": 1}
    refused_or_read(cbor.decode, kind, cbor.dumps(fields))


@settings(max_examples=60, deadline=None)
@given(
    blobs=st.lists(
        st.builds(
            Wanted,
            st.binary(min_size=32, max_size=32),
            st.integers(0, 16_383),
            st.integers(0, 16_383),
        ),
        max_size=4,
    ),
    since=st.none() | COUNTER,
)
def test_need_comes_back_as_it_was_sent(blobs: list[Wanted], since: int | None) -> None:
    need = Need(scope="all", epoch=3, since=since, blobs=blobs)
    assert cbor.decode(Need, cbor.encode(need)) == need


@settings(max_examples=60, deadline=None)
@given(body=st.dictionaries(TEXT, st.integers(-9, 9), max_size=4))
def test_event_comes_back_as_it_was_sent(body: dict[str, int]) -> None:
    event = Event(life="ab", number=7, kind="door", at=1, body=body)
    assert reports.decode(Event, reports.encode(event)) == event


def test_fields_of_the_future_are_ignored_and_versions_of_it_refused() -> None:
    good = b'{"v":1,"up":true,"boot":"ab","session":1,"colour":"red"}'
    assert reports.decode(Birth, good).session == 1
    with pytest.raises(YaoheError, match="version 2"):
        reports.decode(Birth, good.replace(b'"v":1', b'"v":2'))


@settings(max_examples=200, deadline=None)
@given(typed=st.text(max_size=30))
def test_any_typing_is_a_code_or_refused(typed: str) -> None:
    refused_or_read(parse_claim, typed)


def test_code_survives_how_people_type() -> None:
    for _ in range(50):
        claim = new_claim()
        sloppy = str(claim).lower().replace("0", "o").replace("1", "l")
        assert parse_claim(f"  {sloppy.replace('-', ' ')} ") == claim
        assert set(str(claim)) <= {*ALPHABET, "-"}


def test_proof_is_for_one_purpose_and_one_content() -> None:
    claim = new_claim()
    given_proof = proof(claim, "a", b"content")
    assert is_proof(claim, "a", b"content", given_proof)
    assert not is_proof(claim, "b", b"content", given_proof)
    assert not is_proof(claim, "a", b"other", given_proof)
    assert not is_proof(Claim(claim.name, "0" * 15), "a", b"content", given_proof)
