"""What every engine of the cloud is: one protocol, one job, one origin.

Rules an engine keeps:

* ``synthesize`` yields float32 samples in [-1, 1], mono, 24 kHz, in order, each chunk
  as early as it can; it never yields an empty chunk and never speaks of the web.
* Closing the iterator stops the work as soon as the running step ends.
* Its errors are :class:`~common.errors.YaoheError`.
* ``enforced`` is true only where it speaks our symbols and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from common.speech import Pauses
from common.text.receipt import Reading
from common.text.symbols import Symbol

Chunk = NDArray[np.float32]
"""Samples in [-1, 1], shape [n], 24 kHz."""


@dataclass(frozen=True)
class Drawing:
    """How an engine that draws random numbers draws them; None is its own choice.

    Attributes:
        temperature: 0 takes the most probable always.
        top_p: Least probability that the kept ones have together.
        top_k: Most that are kept.
        repetition_penalty: Weakens what came before.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None

    def asked(self) -> dict[str, Any]:
        """What was asked for, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Job:
    """One utterance to speak.

    Attributes:
        utterance: Its id, for logs.
        reading: What is said; an engine with ``enforced`` speaks its symbols.
        voice: A name in the engine's repertoire.
        dialect: A dialect of that voice.
        speed: Relative to the voice's own, 0.25-4.
        pitch: Shift in semitones.
        volume: Gain in decibels.
        seed: For engines that draw random numbers; None lets the engine choose.
        deadline: Monotonic second before which the first sound is due, or None.
        drawing: For engines that draw random numbers.
    """

    utterance: str
    reading: Reading
    voice: str
    dialect: str
    speed: float = 1.0
    pitch: float = 0.0
    volume: float = 0.0
    seed: int | None = None
    deadline: float | None = None
    drawing: Drawing = Drawing()

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What an engine that speaks our symbols receives."""
        return self.reading.symbols

    @property
    def text(self) -> str:
        """What an engine that reads characters itself receives: words, no digits."""
        return self.reading.spoken


@dataclass(frozen=True)
class Origin:
    """Where a sound comes from; travels with it as provenance.

    Attributes:
        engine: The engine's name.
        pack: ``name@version`` of the weights.
        sha256: Digest of the pack or the weights.
        verified: Whether a trusted digest was checked.
    """

    engine: str
    pack: str
    sha256: str
    verified: bool


class Engine(Protocol):
    """An engine that turns jobs into sound."""

    @property
    def name(self) -> str:
        """Its name on the command line and in metrics."""

    @property
    def enforced(self) -> bool:
        """Whether it speaks our symbols."""

    @property
    def slots(self) -> int:
        """Jobs it works on at the same time."""

    @property
    def repertoire(self) -> Mapping[str, tuple[str, ...]]:
        """Voices, the default first, and the dialects that each speaks."""

    @property
    def is_ready(self) -> bool:
        """Whether it takes jobs."""

    def origin(self, voice: str, dialect: str) -> Origin:
        """Say what speaks for a voice and dialect of the repertoire."""

    def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Speak a job; see the module for the rules."""

    async def start(self) -> None:
        """Load and warm up; returns when ``is_ready``."""

    async def stop(self) -> None:
        """Let running steps end and free everything."""


@runtime_checkable
class KnowsClauses(Protocol):
    """An engine that knows the timing of a job before it is spoken."""

    async def clause_ends(self, job: Job) -> Pauses:
        """Say where the job's clauses will end: symbols and samples before it."""


@runtime_checkable
class SharesSlots(Protocol):
    """An engine that takes more jobs than it has slots and shares those fairly."""

    @property
    def places(self) -> int:
        """Jobs it takes at the same time; whoever comes later waits outside."""


def places(engine: Engine) -> int:
    """How many jobs an engine is given at the same time.

    Args:
        engine: Any engine.

    Returns:
        Its places where it shares its slots itself, else its slots.
    """
    return engine.places if isinstance(engine, SharesSlots) else engine.slots


@dataclass(frozen=True)
class Load:
    """What a batching engine is doing and has done since it started.

    Attributes:
        running: Jobs in its slots now.
        waiting: Jobs it has taken that wait for a slot or for memory.
        steps: Decode steps so far.
        tokens: Rows of all those steps; ``tokens / steps`` is the mean batch.
    """

    running: int
    waiting: int
    steps: int
    tokens: int


@runtime_checkable
class KnowsLoad(Protocol):
    """An engine that batches and can say how full its steps are."""

    def load(self) -> Load:
        """Count; called from any thread, at any time."""


@runtime_checkable
class HasWorkers(Protocol):
    """An engine made of workers that come and go."""

    @property
    def ready_workers(self) -> int:
        """Workers that take jobs."""

    @property
    def replaced(self) -> int:
        """Jobs that another worker took over before their first sound, so far."""

    def on_change(self, tell: Callable[[], object]) -> None:
        """Have somebody told when workers came or went."""
