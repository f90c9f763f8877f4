"""What is refused is a line in the log once in a while, and is counted."""

from __future__ import annotations

import logging

import pytest

from edge.sync.refusals import ONCE_IN_S, Refusals


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def refusals(clock: Clock, caplog: pytest.LogCaptureFixture) -> Refusals:
    caplog.set_level(logging.INFO)
    return Refusals(monotonic=clock)


def test_a_flood_is_one_line_a_minute_with_the_number_left_out(
    refusals: Refusals, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1000):
        refusals.say("Head", "pack_invalid", f"head {number} is refused")
    assert caplog.messages == ["head 0 is refused"]
    clock.now += ONCE_IN_S
    refusals.say("Head", "pack_invalid", "one more is refused")
    assert caplog.messages[1:] == ["one more is refused (999 more left out)"]


def test_another_kind_and_another_reason_are_lines_of_their_own(
    refusals: Refusals, caplog: pytest.LogCaptureFixture
) -> None:
    for kind in ("Head", "Log"):
        for reason in ("pack_invalid", "not kept"):
            refusals.say(kind, reason, f"{kind} {reason}")
            refusals.say(kind, reason, f"{kind} {reason}")
    assert len(caplog.messages) == len(set(caplog.messages)) == 4


def test_what_was_left_out_is_told_when_nothing_follows(
    refusals: Refusals, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        refusals.say("Head", "pack_invalid", "refused")
    refusals.settle()
    assert len(caplog.messages) == 1, "the minute is not over"
    clock.now += ONCE_IN_S
    refusals.settle()
    refusals.settle()
    assert caplog.messages[1:] == ["Head refused (pack_invalid): 2 more left out"]


def test_an_unknown_failure_keeps_its_traceback(
    refusals: Refusals, caplog: pytest.LogCaptureFixture
) -> None:
    error = KeyError("x")
    refusals.say("Head", "KeyError", "failed", level=logging.ERROR, error=error)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.exc_info[1] is error
