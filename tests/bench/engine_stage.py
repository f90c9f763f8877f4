"""Our ChatTTS engine on a stage: driven as its own thread drives it, with a clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cloud.engine.chattts.assets import load
from cloud.engine.chattts.early import EarlyStream, speak
from cloud.engine.chattts.request import Request, Ticket
from cloud.engine.chattts.runner import Runner
from cloud.engine.chattts.sampler import Sampling
from cloud.engine.chattts.scheduler import PROMPT_TOKENS, Scheduler
from cloud.engine.chattts.sequence import Tokenizer
from cloud.engine.chattts.stream import Samples, Vocoder

ALL_AT_ONCE = 1 << 20
"""Prompt tokens in one step, where prompts are to be out of the way."""


@dataclass(eq=False)
class Part:
    """One request on the stage.

    Attributes:
        ticket: Its place in the scheduler.
        stream: Its sound, if there is any.
        began: When it was asked for, seconds of the clock.
        ended: When it got its last step, and its sound with it.
        codes: What it drew.
        hidden: Its hidden states, one a step.
        heard: Its sound, and the step and the second in which each piece left.
    """

    ticket: Ticket
    stream: EarlyStream | None
    began: float
    ended: float = 0.0
    codes: list[tuple[int, ...]] = field(default_factory=list)
    hidden: list[Tensor] = field(default_factory=list)
    heard: list[tuple[int, float, Samples]] = field(default_factory=list)

    @property
    def first_sound(self) -> float:
        """Seconds to its first sound."""
        return self.heard[0][1] - self.began

    @property
    def sound(self) -> NDArray[np.float32]:
        """All of its sound."""
        return np.concatenate([piece for _, _, piece in self.heard])


class Model:
    """Loaded assets and what is shared by all stages."""

    def __init__(self, folder: Path, *, threads: int, cache_mib: int) -> None:
        torch.set_num_threads(threads)
        assets = load(folder)
        self.shape = assets.shape
        self.runner = Runner(assets, budget_bytes=cache_mib << 20)
        self.vocoder = Vocoder(assets)
        self.tokenizer = Tokenizer(assets.tokenizer)
        self.speaker: Tensor | None = None
        # What one step must read at least, whoever is in it.
        heads = [name for name in assets.embed if name.startswith("head_code")]
        weights = [*assets.gpt.values(), *(assets.embed[name] for name in heads)]
        self.step_bytes = sum(each.numel() * each.element_size() for each in weights)

    def request(self, text: str, seed: int, steps: int) -> Request:
        """A request that takes just so many steps."""
        prompt = self.tokenizer.speech(
            self.tokenizer.words(text), has_speaker=self.speaker is not None
        )
        rules = Sampling(min_steps=steps, max_steps=steps)
        return Request(prompt, self.speaker, rules, seed)


class Stage:
    """A scheduler, and a vocoder where there is to be sound."""

    def __init__(
        self,
        model: Model,
        *,
        rows: int,
        has_sound: bool,
        prompt_tokens: int = PROMPT_TOKENS,
    ) -> None:
        self._model = model
        self._scheduler = Scheduler(
            model.runner, rows=rows, prompt_tokens=prompt_tokens
        )
        self._has_sound = has_sound
        self._parts: dict[Ticket, Part] = {}

    @property
    def is_busy(self) -> bool:
        """Whether anybody is on it."""
        return bool(self._parts)

    def add(self, request: Request) -> Part:
        """Let a request join."""
        began = time.perf_counter()
        ticket = self._scheduler.submit(request)
        stream = EarlyStream(self._model.vocoder) if self._has_sound else None
        part = self._parts[ticket] = Part(ticket, stream, began)
        return part

    def abort(self, part: Part) -> None:
        """Let a request go."""
        self._scheduler.abort(part.ticket)
        self._parts.pop(part.ticket, None)

    def tick(self) -> None:
        """One step, and the sound that is due."""
        ended: list[Part] = []
        for made in self._scheduler.step():
            part = self._parts[made.ticket]
            part.codes.append(made.codes)
            if made.hidden is not None:
                part.hidden.append(made.hidden)
                if part.stream is not None:
                    part.stream.add(made.hidden[None])
            if made.is_last:
                ended.append(part)
                if part.stream is not None:
                    part.stream.end()
        if self._has_sound:
            self._speak()
        for part in ended:
            part.ended = time.perf_counter()
            del self._parts[part.ticket]

    def _speak(self) -> None:
        due = [
            (part, part.stream)
            for part in self._parts.values()
            if part.stream is not None and part.stream.is_due
        ]
        sounds = speak(self._model.vocoder, [stream for _, stream in due])
        now = time.perf_counter()
        for (part, _), sound in zip(due, sounds, strict=True):
            if sound.size:
                part.heard.append((len(part.codes), now, sound))


@dataclass(frozen=True)
class Run:
    """What some requests took that began together.

    Attributes:
        parts: The requests.
        prompts_s: Seconds of the step that took on all prompts.
        steps_s: Seconds of each step after that, sound included.
    """

    parts: tuple[Part, ...]
    prompts_s: float
    steps_s: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Steps of all requests a second, prompts excluded."""
        return len(self.parts) * len(self.steps_s) / sum(self.steps_s)


def together(model: Model, requests: Sequence[Request], *, has_sound: bool) -> Run:
    """Run requests that begin together and take equally many steps.

    Args:
        model: Ours.
        requests: As many rows as there are.
        has_sound: Whether they are heard, streamed.

    Returns:
        What it took.
    """
    stage = Stage(
        model,
        rows=len(requests),
        has_sound=has_sound,
        prompt_tokens=ALL_AT_ONCE,
    )
    parts = [stage.add(request) for request in requests]
    spent: list[float] = []
    while stage.is_busy:
        began = time.perf_counter()
        stage.tick()
        spent.append(time.perf_counter() - began)
    return Run(tuple(parts), spent[0], tuple(spent[1:]))
