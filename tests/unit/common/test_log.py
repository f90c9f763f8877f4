"""Logging: one line an event, and the utterance on each."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from common import log


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def _lines(form: log.Form, message: str, **extra: object) -> list[str]:
    stream = io.StringIO()
    log.set_up("debug", form, stream)
    logging.getLogger("edge.policy").info(message, extra=extra)
    return stream.getvalue().splitlines()


def test_an_event_is_one_json_object() -> None:
    (line,) = _lines("json", "spoken\nforged \ud800", tier="cache", ms=3)
    event = json.loads(line)
    assert event.pop("time") > 0
    assert event == {
        "level": "info",
        "logger": "edge.policy",
        "message": "spoken\nforged \ud800",
        "tier": "cache",
        "ms": 3,
    }


def test_an_event_is_one_plain_line() -> None:
    (line,) = _lines("plain", "spoken\n\x1b[31mforged", tier="cache\n2")
    assert line.endswith("info edge.policy spoken\\n\\x1b[31mforged tier=cache\\n2")


@pytest.mark.parametrize("form", ["plain", "json"])
def test_lines_about_an_utterance_carry_it(form: log.Form) -> None:
    with log.about("0011"):
        assert "0011" in _lines(form, "spoken")[0]
    assert "0011" not in _lines(form, "spoken")[0]


@pytest.mark.parametrize("form", ["plain", "json"])
def test_a_flood_is_cut(form: log.Form) -> None:
    (line,) = _lines(form, "x" * 10**6)
    assert len(line) < log.MAX_MESSAGE_CHARACTERS + 200


@pytest.mark.parametrize("form", ["plain", "json"])
def test_an_exception_keeps_its_traceback(form: log.Form) -> None:
    stream = io.StringIO()
    log.set_up("info", form, stream)
    try:
        raise RuntimeError("why")
    except RuntimeError:
        logging.getLogger("edge").exception("failed")
    assert "Traceback" in stream.getvalue()
    assert "RuntimeError: why" in stream.getvalue()


def test_the_least_level_is_kept() -> None:
    stream = io.StringIO()
    log.set_up("warning", "plain", stream)
    logging.getLogger("edge").info("quiet")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("library", ["httpx", "tuf.api._payload"])
def test_what_a_library_does_all_the_time_is_no_event(library: str) -> None:
    stream = io.StringIO()
    log.set_up("info", "plain", stream)
    logging.getLogger(library).info("HTTP Request: GET")
    logging.getLogger(library).warning("worth a line")
    assert stream.getvalue().count("\n") == 1
