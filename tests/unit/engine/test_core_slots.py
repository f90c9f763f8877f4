"""Runs of the cache: never two owners, nothing lost, gaps join again."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from cloud.engine.chattts.slots import PAGE, Slot, Slots, token_bytes  # noqa: E402
from tests.unit.engine.core_parts import tiny  # noqa: E402

pytestmark = pytest.mark.slow


def slots(pages: int) -> Slots:
    shape = tiny().shape
    return Slots(shape, pages * PAGE * token_bytes(shape, torch.float32))


def test_the_cache_is_as_large_as_the_budget() -> None:
    shape = tiny().shape
    budget = 1_000_000
    cache = Slots(shape, budget).cache
    held = cache.numel() * cache.element_size()
    assert held <= budget < held + PAGE * token_bytes(shape, torch.float32)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 300)), max_size=60))
def test_runs_never_overlap_and_all_come_back(steps: list[tuple[bool, int]]) -> None:
    memory = slots(16)
    held: list[Slot] = []
    for is_taking, number in steps:
        if is_taking:
            slot = memory.take(number)
            if slot is not None:
                assert slot.tokens >= number
                held.append(slot)
        elif held:
            memory.give_back(held.pop(number % len(held)))
        places = sorted(held)
        ends = [slot.start + slot.tokens for slot in places]
        assert all(
            end <= slot.start for end, slot in zip(ends, places[1:], strict=False)
        )
        assert not ends or ends[-1] <= memory.tokens
        assert memory.held == len(held)
        used = sum(slot.tokens for slot in held)
        assert memory.free_tokens == memory.tokens - used
    for slot in held:
        memory.give_back(slot)
    assert memory.take(memory.tokens) == Slot(0, memory.tokens)


def test_a_run_is_given_back_once() -> None:
    memory = slots(4)
    slot = memory.take(40)
    assert slot == Slot(0, 2 * PAGE)
    memory.give_back(slot)
    with pytest.raises(KeyError):
        memory.give_back(slot)


def test_what_does_not_fit_waits() -> None:
    memory = slots(4)
    first = memory.take(3 * PAGE)
    assert first is not None
    assert memory.take(2 * PAGE) is None
    assert memory.take(PAGE) is not None
    memory.give_back(first)
    assert memory.take(2 * PAGE) == Slot(0, 2 * PAGE)
