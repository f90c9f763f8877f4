"""What the tests of the engine's core share: tiny assets and random requests."""

from __future__ import annotations

import functools
import random
import tempfile
from pathlib import Path

import torch

from cloud.engine.chattts.assets import Assets, load
from cloud.engine.chattts.linear import DType
from cloud.engine.chattts.request import Made, Request, Ticket
from cloud.engine.chattts.runner import Runner
from cloud.engine.chattts.sampler import Sampling
from cloud.engine.chattts.scheduler import Scheduler
from cloud.engine.chattts.sequence import Prompt
from cloud.engine.chattts.slots import token_bytes
from tests.tools.make_random_assets import build

Result = tuple[list[list[int]], torch.Tensor]
"""A request's codes [steps][codebooks] and hidden states [steps, hidden]."""


@functools.cache
def tiny() -> Assets:
    """Tiny random assets whose end is never drawn by itself."""
    folder = Path(tempfile.mkdtemp(prefix="yaohe-assets-"))
    return load(build(folder, "tiny"))


def runner(tokens: int = 4096, dtype: DType = "fp32") -> Runner:
    """A runner with a cache for so many tokens."""
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    each = token_bytes(tiny().shape, kind)
    return Runner(tiny(), budget_bytes=tokens * each, dtype=dtype)


def a_request(number: int, steps: int | None = None, prompt: int = 0) -> Request:
    """A request with parameters of its own, the same for the same number."""
    chance = random.Random(number)
    ids = [chance.randrange(5, 400) for _ in range(prompt or chance.randrange(3, 50))]
    sampling = Sampling(
        temperature=chance.uniform(0.2, 1.5),
        top_p=chance.uniform(0.3, 0.95),
        top_k=chance.randrange(1, 40),
        repetition_penalty=chance.uniform(1.0, 1.4),
        max_steps=steps or chance.randrange(2, 50),
    )
    voice = torch.randn(
        tiny().shape.hidden, generator=torch.Generator().manual_seed(number)
    )
    return Request(Prompt(ids, 1), voice, sampling, seed=number)


class Kept:
    """Collects what a scheduler makes."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.made: dict[Ticket, list[Made]] = {}

    def step(self) -> list[Made]:
        """One step."""
        new = self.scheduler.step()
        for one in new:
            self.made.setdefault(one.ticket, []).append(one)
        return new

    def run(self) -> None:
        """Step until nothing is left."""
        while self.scheduler.is_busy:
            self.step()

    def result(self, ticket: Ticket) -> Result:
        """A finished request's codes and hidden states."""
        made = self.made[ticket]
        assert made[-1].is_last
        hidden = [one.hidden for one in made if one.hidden is not None]
        codes = [list(one.codes) for one in made if one.codes]
        return codes, torch.stack(hidden)


def alone(model: Runner, request: Request) -> Result:
    """What a request gets when nobody else is there."""
    kept = Kept(Scheduler(model))
    ticket = kept.scheduler.submit(request)
    kept.run()
    return kept.result(ticket)


def is_same(one: Result, other: Result) -> bool:
    """Whether two results are the same to the last bit."""
    return one[0] == other[0] and torch.equal(one[1], other[1])
