"""Steps of fixed sizes, as a GPU replays them, give what free steps give."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.chattts.graphs import SPAN  # noqa: E402
from cloud.engine.chattts.request import Request, Ticket  # noqa: E402
from cloud.engine.chattts.runner import Feed, Runner  # noqa: E402
from cloud.engine.chattts.sampler import Sampling  # noqa: E402
from cloud.engine.chattts.scheduler import Scheduler  # noqa: E402
from cloud.engine.chattts.slots import token_bytes  # noqa: E402
from tests.unit.engine.core_parts import (  # noqa: E402
    Kept,
    a_request,
    alone,
    runner,
    tiny,
)

pytestmark = pytest.mark.slow

TOKENS = 1024


def fixed(device: str = "cpu") -> Runner:
    each = token_bytes(tiny().shape, torch.float32)
    budget = TOKENS * each
    return Runner(tiny(), budget_bytes=budget, device=device, has_graphs=True)


def greedy(number: int) -> Request:
    """The nearest codes win, so that a last bit seldom decides."""
    request = a_request(number, steps=30)
    rules = Sampling(temperature=0.0, repetition_penalty=1.0, max_steps=30)
    return Request(request.prompt, request.speaker, rules)


def compare(model: Runner) -> None:
    """Requests that come and go, in steps of fixed sizes, against each alone."""
    chance = random.Random(3)
    kept = Kept(Scheduler(model, rows=6, prompt_tokens=13))
    tickets: dict[Ticket, int] = {}
    todo = list(range(10))
    while todo or kept.scheduler.is_busy:
        if todo and chance.random() < 0.5:
            number = todo.pop()
            tickets[kept.scheduler.submit(greedy(number))] = number
        kept.step()
    for ticket, number in tickets.items():
        codes, hidden = kept.result(ticket)
        expected, states = alone(runner(), greedy(number))
        assert codes == expected
        torch.testing.assert_close(hidden.cpu(), states, atol=2e-5, rtol=0)


def test_fixed_steps_give_what_free_steps_give() -> None:
    model = fixed()
    assert model.slots.tokens == TOKENS
    compare(model)


def test_few_sizes_serve_all_steps() -> None:
    model = fixed()
    slot = model.slots.take(512)
    assert slot is not None
    inputs = torch.randn(300, tiny().shape.hidden)
    position = 0
    for count in (1, 2, 3, 5, 6, 7, 8, 60, 64, 100):
        model.run([Feed(slot, position, inputs[position : position + count])])
        position += count
    assert model.fixed_sizes == [
        (1, SPAN),
        (2, SPAN),
        (4, SPAN),
        (8, SPAN),
        (64, SPAN),
        (128, SPAN),
    ]
    model.run([Feed(slot, position, inputs[:1])])
    assert (1, SPAN) in model.fixed_sizes


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(),
    reason="needs an NVIDIA GPU and a torch with CUDA; torch finds none here",
)
def test_a_gpu_replays_what_a_processor_computes() -> None:
    compare(fixed("cuda"))
