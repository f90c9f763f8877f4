"""What is wrong is said in our words, whatever the validator calls it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from common.complaint import OTHER, complaint, sentence
from common.errors import YaoheError
from common.protocol.synthesis import parse_speech


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: Annotated[int, Field(ge=1, le=9)] = 1
    ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    loud: bool = False
    name: Annotated[str, Field(max_length=4, pattern="^[a-z]*$")] = ""
    kind: Literal["wav", "mp3"] = "wav"
    parts: tuple[int, ...] = ()

    @field_validator("loud")
    @classmethod
    def _quiet(cls, value: bool) -> bool:
        if value:
            raise ValueError("the shop is asleep {now}")
        return value


@pytest.mark.parametrize(
    ("values", "place", "said"),
    [
        ({"count": "many"}, ("count",), "it must be a whole number"),
        ({"count": 0}, ("count",), "it must be at least 1"),
        ({"count": 10}, ("count",), "it must be at most 9"),
        ({"ratio": 0}, ("ratio",), "it must be more than 0.0"),
        ({"ratio": "x"}, ("ratio",), "it must be a number"),
        ({"ratio": float("inf")}, ("ratio",), "it must be a finite number"),
        ({"loud": "x"}, ("loud",), "it must be true or false"),
        ({"loud": True}, ("loud",), "the shop is asleep {now}"),
        ({"name": "abcde"}, ("name",), "it must have at most 4 characters"),
        ({"name": "A"}, ("name",), "it must look like ^[a-z]*$"),
        ({"name": 3}, ("name",), "it must be a string"),
        ({"kind": "aac"}, ("kind",), "it must be 'wav' or 'mp3'"),
        ({"parts": "no"}, ("parts",), "it must be a list"),
        ({"parts": [1, "x"]}, ("parts", 1), "it must be a whole number"),
        ({"other": 1}, ("other",), "there is no such name"),
    ],
)
def test_what_is_wrong_is_one_plain_sentence(
    values: dict[str, Any], place: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        Wish.model_validate(values)
    assert complaint(refusal.value) == (place, said)


def test_a_kind_of_problem_that_nobody_foresaw_has_a_sentence_too() -> None:
    assert sentence({"type": "new_in_the_next_release"}) == OTHER
    assert sentence({"type": "literal_error"}) == OTHER


@pytest.mark.parametrize(
    "values",
    [
        {"input": "好", "speed": "quick"},
        {"input": "好", "speed": 9},
        {"input": "好", "response_format": "ogg"},
        {"input": "好", "seed": 1.5},
        {"input": "好", "receipt": "maybe"},
        {"input": "好", "pitch": True},
        {"input": ["好"]},
        {"input": "好", "fallback": "french"},
    ],
)
def test_a_refused_request_says_nothing_in_the_validators_words(
    values: dict[str, Any],
) -> None:
    with pytest.raises(YaoheError) as refusal:
        parse_speech(values)
    for word in ("Input should", "valid", "Value error", "unable to"):
        assert word not in refusal.value.message
