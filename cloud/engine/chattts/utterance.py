"""One job on its way: its pieces one after another, from text to samples.

A piece is a request of its own (two with refinement), so memory is bounded however
long the text is. A piece's random numbers come from the job's seed and its place alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from cloud.engine.base import Chunk
from cloud.engine.chattts.early import EarlyStream
from cloud.engine.chattts.outlet import Outlet
from cloud.engine.chattts.request import Made, Request
from cloud.engine.chattts.sampler import Sampling
from cloud.engine.chattts.script import Line
from cloud.engine.chattts.sequence import Tokenizer, Words
from cloud.engine.chattts.stream import Vocoder
from common.audio.pcm import SAMPLE_RATE

MIN_STEPS = 8
"""Steps of a piece at least; an end drawn at once would be a word left out."""
STEPS_PER_TOKEN = 24
"""Steps of a piece at most, for each token: half a second, twice what speech needs."""
STEPS_BESIDE = 96
"""Steps at most for the silence around it."""
CONTROL_TOKENS = 4
"""Tokens of a prompt around its words."""
REFINING = Sampling(temperature=0.7, repetition_penalty=1.0)
"""How refinement draws."""
_SEED_STEP, _SEEDS = 0x9E3779B97F4A7C15, 1 << 63


def longest_piece(tokens: int) -> int:
    """Characters of a piece that surely fits; a character is one token at most.

    Args:
        tokens: Most tokens of a sequence, prompt and steps together.

    Returns:
        Characters; less than one where no piece fits.
    """
    return (tokens - STEPS_BESIDE - CONTROL_TOKENS) // (STEPS_PER_TOKEN + 1)


@dataclass(frozen=True)
class Manner:
    """How a job is spoken.

    Attributes:
        speaker: The voice's vector [hidden].
        speed: The n of ``[speed_n]``.
        seed: Where its random numbers begin.
        gain: Factor of its samples.
        is_refined: Whether the model first sets breaks into the text.
        sampling: How codes are drawn; the steps are counted for each piece.
    """

    speaker: Tensor | None
    speed: int
    seed: int
    gain: float = 1.0
    is_refined: bool = False
    sampling: Sampling = Sampling()  # noqa: RUF009 - it is frozen


class Utterance:
    """A job between its text and its listener.

    Attributes:
        outlet: Where its samples go.
        stream: The sound of the piece that is being spoken.
    """

    def __init__(
        self,
        pieces: Sequence[Line],
        manner: Manner,
        tokenizer: Tokenizer,
        vocoder: Vocoder,
        outlet: Outlet,
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            pieces: What is said, piece by piece.
            manner: How.
            tokenizer: Makes the prompts.
            vocoder: Makes the sound.
            outlet: Takes it.
        """
        self.outlet = outlet
        self.stream = EarlyStream(vocoder)
        self._manner = manner
        self._tokenizer = tokenizer
        self._vocoder = vocoder
        self._pieces = iter(pieces)
        self._requests = self._asked()
        self._written: list[int] = []
        self._is_writing = False

    def next_request(self) -> Request | None:
        """What it needs of the model next, or None when all is spoken."""
        return next(self._requests, None)

    def take(self, made: Made) -> None:
        """Take what a step gave it.

        Args:
            made: One step of its running request.
        """
        if self._is_writing:
            self._written.extend(made.codes)
            return
        if made.hidden is not None:
            self.stream.add(made.hidden[None])
        if made.is_last:
            self.stream.end()

    def give(self, sound: Chunk) -> None:
        """Pass samples on to the listener.

        Args:
            sound: What follows the samples so far.
        """
        if self._manner.gain != 1.0:
            sound = sound * np.float32(self._manner.gain)
        self.outlet.put(np.clip(sound, -1.0, 1.0))

    @property
    def is_due(self) -> bool:
        """Whether the vocoder has something to do for it."""
        return not self._is_writing and self.stream.is_due

    @property
    def is_writing(self) -> bool:
        """Whether its running request is a refinement, which makes no sound."""
        return self._is_writing

    def _asked(self) -> Iterator[Request]:
        """All its requests in order."""
        manner = self._manner
        for index, line in enumerate(self._pieces):
            if line.silence_ms:
                count = line.silence_ms * SAMPLE_RATE // 1000
                self.outlet.put(np.zeros(count, np.float32))
            words = line.words
            if not words.ids:
                continue
            seed = (manner.seed + index * _SEED_STEP) % _SEEDS
            said = words
            if manner.is_refined:
                self._is_writing, self._written = True, []
                yield self._refinement(words, seed)
                said = self._tokenizer.refined(words, self._written)
            self._is_writing, self.stream = False, EarlyStream(self._vocoder)
            prompt = self._tokenizer.speech(
                said, has_speaker=manner.speaker is not None, speed=manner.speed
            )
            steps = STEPS_BESIDE + STEPS_PER_TOKEN * len(said.ids)
            most = min(steps, manner.sampling.max_steps)
            least = min(max(MIN_STEPS, manner.sampling.min_steps), most)
            sampling = replace(manner.sampling, min_steps=least, max_steps=most)
            yield Request(prompt, manner.speaker, sampling, seed)

    def _refinement(self, words: Words, seed: int) -> Request:
        """Ask for breaks in a text."""
        return Request(
            self._tokenizer.refinement(words),
            sampling=replace(REFINING, max_steps=2 * len(words.ids) + 16),
            seed=seed,
            text_end=self._tokenizer.refined_end,
        )
