"""What the scheduler is asked for, and what stands of it between two steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from cloud.engine.chattts.sampler import Draws, Sampling
from cloud.engine.chattts.sequence import Prompt
from cloud.engine.chattts.slots import Slot


@dataclass(frozen=True)
class Request:
    """One sequence to make.

    Attributes:
        prompt: Text tokens, and where the speaker vector goes among them.
        speaker: Speaker vector [hidden]; None where the prompt has no place for one.
        sampling: How codes are drawn, and how many.
        seed: Where its random numbers begin.
        text_end: None to speak; to write (text refinement) the token that ends it.
    """

    prompt: Prompt
    speaker: Tensor | None = None
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    text_end: int | None = None

    @property
    def tokens(self) -> int:
        """Most tokens whose keys and values it will ever need."""
        return len(self.prompt.ids) + self.sampling.max_steps


@dataclass(eq=False)
class Ticket:
    """A request in the scheduler.

    Attributes:
        request: What was asked for.
        number: Its place in the order of arrival.
        arrived: The scheduler's step at which it came.
        inputs: Its prompt, embedded [tokens, hidden].
        draws: Codes so far, and its random numbers.
        slot: Its part of the cache, or None while it waits.
        computed: Tokens whose keys and values are in the slot.
        served: Steps it had, counted as fair sharing counts them.
        evictions: How often it lost its slot to a shorter one.
        is_held: Whether it stands still because its listener has enough.
    """

    request: Request
    number: int
    arrived: int
    inputs: Tensor
    draws: Draws
    slot: Slot | None = None
    computed: int = 0
    served: int = 0
    evictions: int = 0
    is_held: bool = False

    @property
    def known(self) -> int:
        """Tokens that are known: the prompt and the steps so far."""
        return len(self.request.prompt.ids) + len(self.draws.codes)

    @property
    def steps(self) -> int:
        """Steps so far."""
        return len(self.draws.codes)


@dataclass(frozen=True)
class Made:
    """What one step gave one request.

    Attributes:
        ticket: Whose it is.
        hidden: Hidden state [hidden] that the vocoder turns to sound; None where the
            end was drawn, which makes no sound.
        codes: The codes that were drawn; empty where the end was.
        is_last: Whether the request is finished and its slot free.
    """

    ticket: Ticket
    hidden: Tensor | None
    codes: tuple[int, ...]
    is_last: bool
