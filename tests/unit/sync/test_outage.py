"""An error of the line is told with its time, and only while it keeps the line down."""

from __future__ import annotations

from dataclasses import dataclass

from edge.sync.outage import Outage


@dataclass
class Seen:
    is_up: bool = False
    last_error: str = "not started"


def test_an_error_has_its_time_and_is_over_when_the_line_is_up() -> None:
    link, clock = Seen(), [1000.0]
    outage = Outage(link, lambda: clock[0])
    link.last_error = "refused"
    outage.look()
    clock[0] = 1500.0
    assert (outage.look().error, outage.since_s) == ("refused", 1000)

    link.is_up = True
    assert (outage.look().error, outage.since_s) == ("", None)

    link.is_up = False
    assert (outage.look().error, outage.since_s) == ("refused", 1500), "a new outage"
    clock[0], link.last_error = 1600.0, "cannot connect"
    assert (outage.look().error, outage.since_s) == ("cannot connect", 1600)
