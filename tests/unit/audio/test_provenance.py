from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.audio.provenance import AigcLabel, Provenance


def test_the_label_has_exactly_the_keys_of_the_standard() -> None:
    comments = dict(Provenance("packed").comments())
    assert list(json.loads(comments["AIGC"])) == [
        "Label",
        "ContentProducer",
        "ProduceID",
        "ReservedCode1",
        "ContentPropagator",
        "PropagateID",
        "ReservedCode2",
    ]
    assert json.loads(comments["AIGC"])["Label"] == "1"


def test_comments_are_ascii_whatever_the_operator_is_called() -> None:
    origin = Provenance("packed", label=AigcLabel(producer="福建某某🍓"))
    assert all(value.isascii() for _, value in origin.comments())
    assert Provenance.from_comments(origin.comments()) == origin


def test_every_field_comes_back(provenance: Provenance) -> None:
    full = replace(provenance, seed=2**40)
    assert Provenance.from_comments(full.comments()) == full


def test_names_of_comments_compare_without_case(provenance: Provenance) -> None:
    lower = [(name.lower(), value) for name, value in provenance.comments()]
    assert Provenance.from_comments(lower) == provenance


def test_an_id_is_given_once() -> None:
    named = Provenance("packed").with_id("first")
    assert named.with_id("second").label.produce_id == "first"


@pytest.mark.parametrize(
    "value", ["", "null", "[]", "{", '{"engine":1}', "[" * 9000, "x" * 20_000]
)
def test_what_is_not_ours_is_absent(value: str) -> None:
    assert Provenance.from_comments([("YAOHE", value)]) is None


def test_fields_of_a_wrong_kind_are_left_out() -> None:
    told = '{"engine":"x","verified":1,"seed":"7","rules_version":true,"new":1}'
    assert Provenance.from_comments([("YAOHE", told)]) == Provenance(
        "x", label=AigcLabel(label="", producer="")
    )


@given(st.text(), st.text())
def test_any_comment_is_read_without_an_exception(label: str, origin: str) -> None:
    Provenance.from_comments([("AIGC", label), ("YAOHE", origin)])
