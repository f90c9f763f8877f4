"""MQTT topics keep their spelling, and no other spelling is understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import YaoheError
from common.protocol import topics

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "topics.json").read_text("utf-8")
)


def _build(row: dict[str, Any]) -> topics.Topic:
    topic: topics.Topic = getattr(topics, row["kind"])(**row["parts"])
    return topic


@pytest.mark.parametrize("row", GOLDEN["topics"], ids=lambda row: row["topic"][:40])
def test_a_topic_keeps_its_spelling(row: dict[str, Any]) -> None:
    assert str(_build(row)) == row["topic"]
    assert topics.parse(row["topic"]) == _build(row)


def test_every_kind_of_topic_has_a_golden_one() -> None:
    assert {row["kind"] for row in GOLDEN["topics"]} == {
        kind.__name__ for kind in topics.KINDS
    }


@pytest.mark.parametrize("topic", GOLDEN["refused"], ids=ascii)
def test_a_foreign_topic_is_refused(topic: str) -> None:
    with pytest.raises(YaoheError, match="not a topic") as refusal:
        topics.parse(topic)
    assert refusal.value.code == "invalid_request"


@pytest.mark.parametrize(
    "row", GOLDEN["wrong_parts"], ids=lambda row: str(row["parts"])
)
def test_parts_that_would_make_another_topic_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(YaoheError, match="not a topic"):
        str(_build(row))


@pytest.mark.parametrize("row", GOLDEN["subscriptions"], ids=lambda row: row["filter"])
def test_a_subscription_keeps_its_spelling(row: dict[str, Any]) -> None:
    assert topics.subscription(*row["levels"]) == row["filter"]


@pytest.mark.parametrize("level", ["#", "a+", "a/b", "", "\0"])
def test_a_subscription_takes_names_and_the_wildcard_of_one_level(level: str) -> None:
    with pytest.raises(YaoheError, match="not a topic"):
        topics.subscription("demo", level)
