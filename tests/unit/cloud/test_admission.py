"""Who works, who waits, who is sent away."""

from __future__ import annotations

import asyncio

import pytest

from common.admission import MAX_RETRY_S, Admission
from common.errors import YaoheError


async def test_jobs_beyond_the_slots_wait_in_order() -> None:
    admission = Admission(slots=1, capacity=5)
    order: list[int] = []

    async def job(number: int) -> None:
        async with admission.slot():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(job(n) for n in range(5)))
    assert order == [0, 1, 2, 3, 4]
    assert (admission.working, admission.waiting) == (0, 0)


async def test_one_more_than_the_queue_holds_is_refused() -> None:
    admission = Admission(slots=1, capacity=0)
    async with admission.slot():
        with pytest.raises(YaoheError) as refusal:
            async with admission.slot():
                pass
    assert refusal.value.code == "queue_full"
    async with admission.slot():
        assert admission.working == 1


async def test_a_job_that_gives_up_waiting_leaves_no_trace() -> None:
    admission = Admission(slots=1, capacity=1)
    async with admission.slot():
        waiting = asyncio.create_task(admission.slot().__aenter__())
        await asyncio.sleep(0)
        assert admission.waiting == 1
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert admission.waiting == 0
    async with admission.slot():
        assert admission.working == 1


async def test_a_job_that_fails_gives_its_slot_back() -> None:
    admission = Admission(slots=1, capacity=0)
    with pytest.raises(ZeroDivisionError):
        async with admission.slot():
            raise ZeroDivisionError
    assert admission.working == 0


async def test_the_time_to_try_again_grows_with_what_jobs_take() -> None:
    now = [0.0]
    admission = Admission(slots=1, capacity=1, clock=lambda: now[0])
    before = admission.retry_after_s()
    for _ in range(20):
        async with admission.slot():
            now[0] += 30
    assert before < admission.retry_after_s() <= MAX_RETRY_S
