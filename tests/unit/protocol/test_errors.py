"""The one error: how it travels and what it quotes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import CODES, MAX_QUOTED, Code, YaoheError, quoted


@pytest.mark.parametrize("code", CODES)
def test_an_error_survives_the_way_to_the_other_tier(code: Code) -> None:
    error = YaoheError(code, "why", param="input", retry_after_s=3, data={"a": [1]})
    back = YaoheError.from_body(json.loads(json.dumps(error.as_body())), error.status)
    assert back.as_body() == error.as_body()


def test_an_error_crosses_a_process_pool_whole() -> None:
    data = {"unread": ["㈱"]}
    error = YaoheError("queue_full", "busy", param="input", retry_after_s=3, data=data)
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert isinstance(back, YaoheError)
    assert back.as_body() == error.as_body()
    assert str(back) == str(error)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (401, "unauthorized"),
        (404, "not_found"),
        (418, "invalid_request"),
        (429, "queue_full"),
        (500, "internal_error"),
        (502, "internal_error"),
        (503, "not_ready"),
        (504, "deadline_exceeded"),
    ],
)
def test_a_foreign_body_takes_its_code_from_the_status(status: int, code: str) -> None:
    assert YaoheError.from_body("<html>", status).code == code


def test_when_to_come_back_is_a_header() -> None:
    assert YaoheError("queue_full", "busy", retry_after_s=2).headers == {
        "Retry-After": "2"
    }
    assert YaoheError("unauthorized", "who?").headers == {"WWW-Authenticate": "Bearer"}
    assert YaoheError("not_found", "no").headers == {}


def test_a_quote_is_short_and_plain() -> None:
    assert quoted("好\n\ud800") == "'\\u597d\\n\\ud800'"
    assert quoted("x" * MAX_QUOTED) == "'" + "x" * MAX_QUOTED + "'"
    assert quoted("x" * 10**6).endswith("'...")
    assert quoted([1] * 10**6) == "a value of type list"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["error", "code", "message", "param", "data", "x"]), inner
    ),
    max_leaves=12,
)


@given(JSON_VALUES, st.integers(300, 599))
def test_any_body_becomes_an_error_of_ours(body: Any, status: int) -> None:
    assert YaoheError.from_body(body, status).code in CODES
