"""Error codes, their statuses and the shape of their bodies do not change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

from common.errors import CODES, Code, YaoheError

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "errors.json").read_text("utf-8")
)


def test_every_code_keeps_its_status_and_type() -> None:
    ours = {code: meaning._asdict() for code, meaning in CODES.items()}
    assert ours == GOLDEN


def test_the_type_names_exactly_the_codes_of_the_table() -> None:
    assert sorted(get_args(Code)) == sorted(CODES)


def test_a_body_has_the_four_fields_that_clients_read() -> None:
    assert YaoheError("unknown_voice", "no such voice", param="voice").as_body() == {
        "error": {
            "message": "no such voice",
            "type": "invalid_request_error",
            "param": "voice",
            "code": "unknown_voice",
        }
    }


def test_a_body_adds_when_to_come_back_and_what_is_known() -> None:
    error = YaoheError("queue_full", "busy", retry_after_s=2, data={"waiting": 32})
    assert error.as_body() == {
        "error": {
            "message": "busy",
            "type": "rate_limit_error",
            "param": None,
            "code": "queue_full",
            "retry_after_s": 2,
            "data": {"waiting": 32},
        }
    }
