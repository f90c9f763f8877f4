"""Continuous batching: who runs in a step, and what each gets from it.

A step is four lines: admit who fits the cache, choose the rows, run them, hand out.
Requests join and leave between any two steps. Prompts ride along with running streams,
a bounded number of tokens a step, so that nobody's sound stops for a newcomer's prompt.

Fairness: a request has priority until its first sound is out, then all share the rows
equally, step by step; who pauses keeps its keys. Where the cache is full, a short
request may take the slot of one that is at least twice as long; that one computes its
keys again later, with the same bits, and goes on where it was.

The class has no threads, no clock and no queue without bound: whoever drives it calls
:meth:`Scheduler.step` while :attr:`Scheduler.is_busy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from cloud.engine.chattts.request import Made, Request, Ticket
from cloud.engine.chattts.runner import Feed, Runner
from cloud.engine.chattts.sampler import Draws, sample
from cloud.engine.chattts.slots import Slot
from common.errors import YaoheError

ROWS = 16
"""Requests that run in one step."""
PROMPT_TOKENS = 32
"""Prompt tokens that one step takes on beside the running rows."""
HEADSTART_STEPS = 24
"""Steps for which a new request goes before others: until its first sound is out."""
LONGER = 2
"""How many times as long a request must be to lose its slot to a new one."""
MAX_EVICTIONS = 2
"""How often one request may lose its slot."""

Choose = Callable[[Tensor, Sequence[Draws]], list[list[int]]]
"""Draws codes from logits [rows, codebooks, codes], a list for each row."""


class Scheduler:
    """Shares one runner among requests.

    Attributes:
        steps: Steps so far.
        tokens: Tokens that they computed, prompts included.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        rows: int = ROWS,
        prompt_tokens: int = PROMPT_TOKENS,
        choose: Choose = sample,
    ) -> None:
        """Start empty.

        Args:
            runner: The model.
            rows: Most requests in one step.
            prompt_tokens: Most prompt tokens in one step.
            choose: Draws codes; a test may force its own.
        """
        self._runner = runner
        self._rows = rows
        self._prompt_tokens = prompt_tokens
        self._choose = choose
        self._waiting: list[Ticket] = []
        self._running: list[Ticket] = []
        self._arrivals = 0
        self.steps = 0
        self.tokens = 0

    @property
    def is_busy(self) -> bool:
        """Whether a step would do anything."""
        return any(not each.is_held for each in (*self._running, *self._waiting))

    @property
    def longest(self) -> int:
        """Tokens of a request at most, prompt and steps together."""
        return min(self._runner.shape.max_positions, self._runner.slots.tokens)

    @property
    def waiting(self) -> int:
        """Requests without a slot."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Requests with a slot, paused ones included."""
        return len(self._running)

    def submit(self, request: Request) -> Ticket:
        """Take a request on; it joins at the next step that has room.

        Args:
            request: What to make.

        Returns:
            What :meth:`abort` takes and every :class:`Made` names.

        Raises:
            YaoheError: ``input_too_long``: it would never fit.
        """
        runner, prompt = self._runner, request.prompt
        if request.tokens > self.longest:
            raise YaoheError(
                "input_too_long",
                f"a prompt of {len(prompt.ids)} tokens and "
                f"{request.sampling.max_steps} steps are more than {self.longest}",
                param="input",
            )
        if not prompt.ids:
            raise YaoheError("nothing_to_say", "the prompt is empty", param="input")
        inputs = runner.embed_prompt(prompt.ids, prompt.speaker_at, request.speaker)
        end = runner.shape.end if request.text_end is None else request.text_end
        draws = Draws.begin(request.sampling, request.seed, end)
        ticket = Ticket(request, self._arrivals, self.steps, inputs, draws)
        self._arrivals += 1
        self._waiting.append(ticket)
        return ticket

    def hold(self, ticket: Ticket) -> None:
        """Let a request stand still; it keeps its slot while nobody needs it.

        Args:
            ticket: A request whose listener has enough.
        """
        ticket.is_held = True

    def resume(self, ticket: Ticket) -> None:
        """Let a request go on.

        Args:
            ticket: A request that was held.
        """
        ticket.is_held = False

    def abort(self, ticket: Ticket) -> None:
        """Let a request go, wherever it stands; its slot is free at once.

        Args:
            ticket: A request; one that is finished or unknown is no error.
        """
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        if ticket in self._running:
            self._running.remove(ticket)
            self._release(ticket)

    def step(self) -> list[Made]:
        """Do one step.

        Returns:
            What each request got that has a new step; one whose prompt is not yet
            through gets nothing.
        """
        self._admit()
        chosen = self._chosen()
        self.steps += 1
        self.tokens += sum(tokens for _, tokens in chosen)
        return self._handed_out(self._ran(chosen)) if chosen else []

    def _admit(self) -> None:
        """Give slots, the shortest first; waiting a step is worth a token."""
        order = sorted(
            (each for each in self._waiting if not each.is_held),
            key=lambda each: (each.arrived + each.request.tokens, each.number),
        )
        for ticket in order:
            ticket.slot = self._runner.slots.take(ticket.request.tokens)
            if ticket.slot is None and not ticket.steps:
                self._evict_for(ticket)
            if ticket.slot is None:
                return
            self._waiting.remove(ticket)
            self._running.append(ticket)

    def _evict_for(self, ticket: Ticket) -> None:
        """Take the slot of a much longer request for a new one, if there is such."""
        longer = [
            each
            for each in self._running
            if each.request.tokens >= LONGER * ticket.request.tokens
            and each.steps >= HEADSTART_STEPS
            and each.evictions < MAX_EVICTIONS
        ]
        if not longer:
            return
        # Nobody hears the pause of one that stands still anyway.
        victim = max(
            longer, key=lambda each: (each.is_held, each.request.tokens, each.number)
        )
        self._running.remove(victim)
        self._release(victim)
        victim.evictions += 1
        self._waiting.append(victim)
        ticket.slot = self._runner.slots.take(ticket.request.tokens)

    def _release(self, ticket: Ticket) -> None:
        """Free a request's slot."""
        if ticket.slot is not None:
            self._runner.slots.give_back(ticket.slot)
            ticket.slot = None
            ticket.computed = 0

    def _chosen(self) -> list[tuple[Ticket, int]]:
        """Who runs, and how many tokens of each."""
        moving = [each for each in self._running if not each.is_held]
        fresh = [each for each in moving if each.steps < HEADSTART_STEPS]
        others = [each for each in moving if each.steps >= HEADSTART_STEPS]
        # Newcomers may not stop everyone else: half of the rows stay where needed.
        fresh = fresh[: max(self._rows - len(others), (self._rows + 1) // 2)]
        others.sort(key=lambda each: (each.served, each.number))
        spare = self._prompt_tokens
        chosen: list[tuple[Ticket, int]] = []
        for ticket in [*fresh, *others]:
            if len(chosen) == self._rows:
                break
            missing = ticket.known - ticket.computed
            tokens = missing if missing == 1 else min(missing, spare)
            if tokens:
                spare -= tokens if missing > 1 else 0
                chosen.append((ticket, tokens))
        return chosen

    def _ran(self, chosen: Sequence[tuple[Ticket, int]]) -> list[tuple[Ticket, Tensor]]:
        """Run rows; returns those that come to a draw, with their hidden states."""
        hidden = self._runner.run(
            [
                Feed(_slot(ticket), ticket.computed, inputs)
                for (ticket, _), inputs in zip(
                    chosen, self._inputs(chosen), strict=True
                )
            ]
        )
        ready: list[tuple[Ticket, Tensor]] = []
        for (ticket, tokens), state in zip(chosen, hidden, strict=True):
            ticket.computed += tokens
            if ticket.computed == ticket.known:
                ready.append((ticket, state))
        return ready

    def _inputs(self, chosen: Sequence[tuple[Ticket, int]]) -> list[Tensor]:
        """Embedded tokens of each row, from its prompt, its steps, or both."""
        runner = self._runner
        steps: dict[bool, list[list[int]]] = {False: [], True: []}
        for ticket, tokens in chosen:
            is_text = ticket.request.text_end is not None
            steps[is_text].extend(_steps(ticket, tokens))
        vectors = {
            False: iter(runner.embed_codes(steps[False]) if steps[False] else ()),
            True: iter(
                runner.embed_text([step[0] for step in steps[True]])
                if steps[True]
                else ()
            ),
        }
        inputs: list[Tensor] = []
        for ticket, tokens in chosen:
            prompt = ticket.inputs[ticket.computed : ticket.computed + tokens]
            source = vectors[ticket.request.text_end is not None]
            made = [next(source)[None] for _ in _steps(ticket, tokens)]
            inputs.append(torch.cat([prompt, *made]))
        return inputs

    def _handed_out(self, ready: Sequence[tuple[Ticket, Tensor]]) -> list[Made]:
        """Draw codes and say who got what; the finished leave."""
        made: list[Made] = []
        for is_text in (False, True):
            some = [
                (ticket, state)
                for ticket, state in ready
                if (ticket.request.text_end is not None) is is_text
            ]
            if not some:
                continue
            states = torch.stack([state for _, state in some])
            score = self._runner.text_logits if is_text else self._runner.code_logits
            drawn = self._choose(score(states), [ticket.draws for ticket, _ in some])
            for (ticket, state), codes in zip(some, drawn, strict=True):
                made.append(self._settled(ticket, state, codes))
        return made

    def _settled(self, ticket: Ticket, state: Tensor, codes: list[int]) -> Made:
        """Count one request's step."""
        if ticket.draws.end in codes:
            self.abort(ticket)
            return Made(ticket, None, (), is_last=True)
        ticket.draws.codes.append(codes)
        if ticket.steps == HEADSTART_STEPS:
            # Whoever joins the others shares from now on and makes up for nothing.
            others = [e.served for e in self._running if e.steps > HEADSTART_STEPS]
            ticket.served = min(others, default=0)
        ticket.served += 1
        is_last = ticket.steps >= ticket.request.sampling.max_steps
        if is_last:
            self.abort(ticket)
        return Made(ticket, state, tuple(codes), is_last)


def _slot(ticket: Ticket) -> Slot:
    """The slot of a request that runs."""
    if ticket.slot is None:
        raise RuntimeError("a request without a slot was chosen")
    return ticket.slot


def _steps(ticket: Ticket, tokens: int) -> list[list[int]]:
    """The codes among a request's next tokens."""
    prompt = len(ticket.request.prompt.ids)
    first = max(ticket.computed - prompt, 0)
    return ticket.draws.codes[first : max(ticket.computed + tokens - prompt, 0)]
