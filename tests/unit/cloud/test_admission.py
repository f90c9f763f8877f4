"""Who works, who waits, who is sent away."""

from __future__ import annotations

import asyncio

import pytest

from common.admission import MAX_RETRY_S, Admission, Priority
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


class Line:
    """Jobs that hold their slot until they are let go."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.began: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.gates: dict[str, asyncio.Event] = {}

    async def join(self, name: str, priority: Priority = Priority.CALL) -> None:
        gate = self.gates[name] = asyncio.Event()

        async def job() -> None:
            async with self.admission.slot(priority):
                self.began.append(name)
                await gate.wait()

        self.tasks[name] = asyncio.create_task(job())
        await asyncio.sleep(0)

    async def leave(self, name: str) -> None:
        self.gates[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    async def give_up(self, name: str) -> None:
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)


async def test_who_waits_for_sound_goes_before_what_can_wait() -> None:
    line = Line(Admission(slots=1, capacity=5))
    await line.join("a")
    await line.join("batch", Priority.BATCH)
    await line.join("b")
    await line.join("c")
    for name in ("a", "b", "c", "batch"):
        assert line.began[-1] == name
        await line.leave(name)


async def test_what_can_wait_leaves_half_of_the_slots_to_callers() -> None:
    line = Line(Admission(slots=4, capacity=5))
    for number in range(4):
        await line.join(f"batch{number}", Priority.BATCH)
    assert line.began == ["batch0", "batch1"]
    await line.join("a")
    await line.join("b")
    assert line.began[2:] == ["a", "b"]
    await line.leave("a")
    assert len(line.began) == 4
    await line.leave("batch0")
    assert line.began[-1] == "batch2"
    for name in ("b", "batch1", "batch2", "batch3"):
        await line.leave(name)
    assert (line.admission.working, line.admission.waiting) == (0, 0)


async def test_what_can_wait_takes_no_callers_place_in_the_line() -> None:
    line = Line(Admission(slots=1, capacity=1))
    await line.join("a")
    await line.join("batch", Priority.BATCH)
    await line.join("b")
    for priority in Priority:
        with pytest.raises(YaoheError, match="waiting already"):
            async with line.admission.slot(priority):
                pass
    for name in ("a", "b", "batch"):
        await line.leave(name)


async def test_new_slots_are_taken_when_somebody_says_that_they_are_there() -> None:
    slots = [0]
    line = Line(Admission(lambda: slots[0], capacity=5))
    await line.join("a")
    assert line.began == []
    slots[0] = 1
    line.admission.wake()
    await asyncio.sleep(0)
    assert line.began == ["a"]
    await line.leave("a")


async def test_a_slot_given_to_one_who_has_just_given_up_goes_to_the_next() -> None:
    line = Line(Admission(slots=1, capacity=5))
    first = line.admission.slot()
    await first.__aenter__()
    for name in ("b", "c"):
        await line.join(name)
    await first.__aexit__(None, None, None)
    # The slot is b's, who does not know it yet.
    await line.give_up("b")
    await asyncio.sleep(0)
    assert line.began == ["c"]
    await line.leave("c")
    assert (line.admission.working, line.admission.waiting) == (0, 0)
