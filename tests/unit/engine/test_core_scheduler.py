"""Requests join, pause and leave at any step, and none of them can tell."""

from __future__ import annotations

import functools
import gc
import random

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.chattts.linear import DType  # noqa: E402
from cloud.engine.chattts.request import Request, Ticket  # noqa: E402
from cloud.engine.chattts.sampler import Sampling  # noqa: E402
from cloud.engine.chattts.scheduler import (  # noqa: E402
    HEADSTART_STEPS,
    Scheduler,
)
from cloud.engine.chattts.sequence import Prompt  # noqa: E402
from common.errors import YaoheError  # noqa: E402
from tests.unit.engine.core_parts import (  # noqa: E402
    Kept,
    Result,
    a_request,
    alone,
    is_same,
    runner,
    tiny,
)

pytestmark = pytest.mark.slow

REQUESTS = 24


@functools.cache
def solo(number: int, steps: int | None = None) -> Result:
    """What a request gets alone."""
    return alone(runner(), a_request(number, steps))


@pytest.mark.parametrize(
    ("seed", "rows", "prompt_tokens", "tokens"),
    [(0, 16, 32, 4096), (1, 4, 7, 4096), (2, 3, 1, 1024), (3, 32, 500, 2048)],
)
def test_a_request_is_the_same_in_any_company_and_order(
    seed: int, rows: int, prompt_tokens: int, tokens: int
) -> None:
    chance = random.Random(seed)
    kept = Kept(Scheduler(runner(tokens), rows=rows, prompt_tokens=prompt_tokens))
    todo = chance.sample(range(REQUESTS), REQUESTS)
    tickets: dict[int, Ticket] = {}
    while todo or kept.scheduler.is_busy:
        while todo and chance.random() < 0.4:
            number = todo.pop()
            tickets[number] = kept.scheduler.submit(a_request(number))
        kept.step()
    for number, ticket in tickets.items():
        assert is_same(kept.result(ticket), solo(number))


@pytest.mark.parametrize("dtype", ["bf16", "int8"])
def test_smaller_numbers_keep_the_promise_too(dtype: DType) -> None:
    kept = Kept(Scheduler(runner(2048, dtype=dtype), rows=5, prompt_tokens=9))
    tickets = [kept.scheduler.submit(a_request(number)) for number in range(8)]
    kept.run()
    for number, ticket in enumerate(tickets):
        by_itself = alone(runner(2048, dtype=dtype), a_request(number))
        assert is_same(kept.result(ticket), by_itself)
        # They are other sounds, which is why nobody gets them unasked.
        assert not is_same(by_itself, solo(number))


def test_a_seed_and_a_parameter_make_a_difference() -> None:
    request = a_request(1)
    other = Request(request.prompt, request.speaker, request.sampling, seed=99)
    assert not is_same(alone(runner(), other), solo(1))


def test_a_voice_does_not_leak_into_the_next_request() -> None:
    kept = Kept(Scheduler(runner()))
    kept.scheduler.submit(a_request(5))
    kept.run()
    plain = Request(Prompt([7, 8, 9]), sampling=Sampling(max_steps=5))
    ticket = kept.scheduler.submit(plain)
    kept.run()
    assert is_same(kept.result(ticket), alone(runner(), plain))


def test_what_is_aborted_leaves_at_once_and_disturbs_nobody() -> None:
    for step in (0, 1, 2, 5, 9):
        model = runner()
        kept = Kept(Scheduler(model, prompt_tokens=11))
        stays = [kept.scheduler.submit(a_request(n)) for n in (1, 2)]
        goes = kept.scheduler.submit(a_request(3, steps=200))
        for _ in range(step):
            kept.step()
        kept.scheduler.abort(goes)
        kept.scheduler.abort(goes)
        made = len(kept.made.get(goes, []))
        kept.run()
        assert len(kept.made.get(goes, [])) == made
        assert model.slots.held == 0
        for number, ticket in zip((1, 2), stays, strict=True):
            assert is_same(kept.result(ticket), solo(number))


def live_tensors() -> tuple[int, int]:
    """Tensors that are alive and their bytes; packed weights cannot be asked."""
    gc.collect()
    tensors = [
        each
        for each in gc.get_objects()
        if type(each) is torch.Tensor and not each.is_mkldnn
    ]
    return len(tensors), sum(t.untyped_storage().nbytes() for t in tensors)


def same_as_alone(kept: Kept, numbers: dict[Ticket, int]) -> int:
    """Compare every request that came to its end; says how many did."""
    ended = [ticket for ticket, made in kept.made.items() if made[-1].is_last]
    for ticket in ended:
        assert is_same(kept.result(ticket), solo(numbers[ticket]))
    return len(ended)


def test_five_hundred_requests_with_random_aborts_leave_nothing_behind() -> None:
    chance = random.Random(7)
    model = runner(2048)
    kept = Kept(Scheduler(model))
    numbers: dict[Ticket, int] = {}
    memory: list[tuple[int, int]] = []
    survivors = 0
    for number in range(REQUESTS):
        solo(number)
    for arrival in range(500):
        number = chance.randrange(REQUESTS)
        numbers[kept.scheduler.submit(a_request(number))] = number
        for _ in range(chance.choice((0, 1, 1, 2, 6))):
            kept.step()
        if chance.random() < 0.4:
            kept.scheduler.abort(chance.choice(list(numbers)))
        if arrival % 100 == 99:
            kept.run()
            survivors += same_as_alone(kept, numbers)
            numbers.clear()
            kept.made.clear()
            assert model.slots.held == 0
            assert model.slots.free_tokens == model.slots.tokens
            memory.append(live_tensors())
    assert survivors > 200
    # The same tensors after every hundred: the line through them has slope zero.
    assert len(set(memory)) == 1


def long_requests(count: int, steps: int) -> list[Request]:
    return [a_request(1000 + n, steps=steps, prompt=10) for n in range(count)]


def steps_to_sound(kept: Kept, request: Request, sound: int = 12) -> int:
    """Steps from a request's arrival to its twelfth code."""
    ticket = kept.scheduler.submit(request)
    began = kept.scheduler.steps
    while len(kept.made.get(ticket, [])) < sound:
        kept.step()
    return kept.scheduler.steps - began


@pytest.mark.parametrize("slots_for", [33, 16])
def test_a_short_request_is_not_stuck_behind_long_ones(slots_for: int) -> None:
    steps, short = 400, a_request(1, steps=40, prompt=20)
    room = runner(slots_for * 416)
    free = Kept(Scheduler(room, rows=16))
    for request in long_requests(15, steps):
        free.scheduler.submit(request)
    for _ in range(100):
        free.step()
    usual = steps_to_sound(free, short)
    busy = Kept(Scheduler(runner(slots_for * 416), rows=16))
    for request in long_requests(32, steps):
        busy.scheduler.submit(request)
    for _ in range(100):
        busy.step()
    assert steps_to_sound(busy, short) <= usual + 1


def test_one_that_lost_its_slot_goes_on_with_the_same_bits() -> None:
    long = a_request(1000, steps=200, prompt=10)
    kept = Kept(Scheduler(runner(256)))
    victim = kept.scheduler.submit(long)
    for _ in range(60):
        kept.step()
    short = kept.scheduler.submit(a_request(1, steps=30))
    kept.step()
    assert victim.slot is None
    assert victim.evictions == 1
    kept.run()
    assert is_same(kept.result(short), solo(1, 30))
    assert is_same(kept.result(victim), alone(runner(), long))


def test_equals_share_the_rows_equally() -> None:
    kept = Kept(Scheduler(runner(), rows=4))
    tickets = [kept.scheduler.submit(r) for r in long_requests(8, 300)]
    while min(each.steps for each in tickets) < HEADSTART_STEPS:
        kept.step()
    before = [each.steps for each in tickets]
    for _ in range(80):
        kept.step()
    gained = [each.steps - had for each, had in zip(tickets, before, strict=True)]
    assert max(gained) - min(gained) <= HEADSTART_STEPS
    assert sum(gained) == 4 * 80


def test_newcomers_leave_half_of_the_rows_to_others() -> None:
    kept = Kept(Scheduler(runner(), rows=4))
    old = [kept.scheduler.submit(r) for r in long_requests(4, 200)]
    for _ in range(HEADSTART_STEPS + 5):
        kept.step()
    for number in range(6):
        kept.scheduler.submit(a_request(number, steps=100))
    before = sum(each.steps for each in old)
    for _ in range(20):
        kept.step()
    assert sum(each.steps for each in old) - before >= 2 * 20


def test_one_that_is_held_stands_still_and_goes_on_the_same() -> None:
    kept = Kept(Scheduler(runner()))
    ticket = kept.scheduler.submit(a_request(4, steps=30))
    other = kept.scheduler.submit(a_request(5, steps=30))
    for _ in range(10):
        kept.step()
    kept.scheduler.hold(ticket)
    steps = ticket.steps
    kept.run()
    assert ticket.steps == steps
    assert kept.made[other][-1].is_last
    kept.scheduler.resume(ticket)
    kept.run()
    assert is_same(kept.result(ticket), solo(4, 30))


def test_a_prompt_never_takes_more_tokens_of_a_step_than_allowed() -> None:
    kept = Kept(Scheduler(runner(), rows=8, prompt_tokens=9))
    running = kept.scheduler.submit(a_request(1, steps=60))
    while not running.steps:
        kept.step()
    kept.scheduler.submit(a_request(2, steps=5, prompt=45))
    before = kept.scheduler.tokens
    while kept.scheduler.running + kept.scheduler.waiting == 2:
        steps = running.steps
        kept.step()
        assert kept.scheduler.tokens - before <= 1 + 9
        assert running.steps == steps + 1
        before = kept.scheduler.tokens


def test_the_end_makes_no_sound_and_frees_the_slot() -> None:
    def choose(logits: object, rows: list[object]) -> list[list[int]]:
        step = kept.scheduler.steps
        return [[3, 4, 5, tiny().shape.end if step == 4 else 6] for _ in rows]

    model = runner()
    kept = Kept(Scheduler(model, choose=choose))  # type: ignore[arg-type]
    ticket = kept.scheduler.submit(a_request(1, steps=50, prompt=5))
    kept.run()
    made = kept.made[ticket]
    assert [one.is_last for one in made] == [False, False, False, True]
    assert made[-1].hidden is None
    assert made[-1].codes == ()
    assert model.slots.held == 0


def test_written_text_ends_at_its_own_token() -> None:
    request = a_request(3, steps=40)
    text = Request(request.prompt, sampling=request.sampling, seed=1, text_end=77)
    codes, _ = alone(runner(), text)
    assert all(len(step) == 1 and 0 <= step[0] < 512 for step in codes)
    mixed = Kept(Scheduler(runner()))
    ticket = mixed.scheduler.submit(text)
    mixed.scheduler.submit(a_request(1))
    mixed.run()
    assert mixed.result(ticket)[0] == codes


@pytest.mark.parametrize(
    ("ids", "steps", "code"),
    [(10, 600, "input_too_long"), (600, 1, "input_too_long"), (0, 5, "nothing_to_say")],
)
def test_what_could_never_run_is_refused(ids: int, steps: int, code: str) -> None:
    scheduler = Scheduler(runner(4096))
    request = Request(Prompt(list(range(ids))), sampling=Sampling(max_steps=steps))
    with pytest.raises(YaoheError) as caught:
        scheduler.submit(request)
    assert caught.value.code == code
    assert not scheduler.is_busy
