from __future__ import annotations

from edge.breaker import FAILURES, FIRST_REST_S, MAX_REST_S, Breaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def broken(clock: Clock) -> Breaker:
    breaker = Breaker(clock, lambda: 0.5)
    for _ in range(FAILURES):
        assert breaker.is_closed
        breaker.failed()
    return breaker


def test_a_few_failures_in_a_row_open_it() -> None:
    breaker = broken(Clock())
    assert not breaker.is_closed
    assert breaker.says == "open"


def test_a_success_in_between_keeps_it_closed() -> None:
    breaker = Breaker(Clock())
    for _ in range(10):
        breaker.failed()
        breaker.succeeded()
    assert breaker.is_closed


def test_after_its_rest_one_more_try_decides() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now += FIRST_REST_S
    assert (breaker.is_closed, breaker.says) == (True, "trying")
    breaker.failed()
    assert not breaker.is_closed
    clock.now += 2 * FIRST_REST_S
    breaker.succeeded()
    assert breaker.says == "closed"


def test_rests_double_up_to_a_minute() -> None:
    clock = Clock()
    breaker = broken(clock)
    for _ in range(20):
        clock.now += MAX_REST_S
        assert breaker.is_closed
        breaker.failed()
    clock.now += MAX_REST_S - 1
    assert not breaker.is_closed
    clock.now += 1
    assert breaker.is_closed
