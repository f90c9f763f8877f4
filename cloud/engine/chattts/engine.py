"""ChatTTS's architecture behind the engine protocol: many jobs, one step for all.

The engine takes characters and chooses readings itself, so it is not ``enforced``; it
is given words, never digits, and refuses characters that its tokenizer lacks rather
than leave them out. It owns one thread; a second one watches that steps end.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from cloud.engine.base import Chunk, Job, Load, Origin
from cloud.engine.chattts import speakers, warm_up
from cloud.engine.chattts.assets import Assets, load
from cloud.engine.chattts.clauses import LONGEST
from cloud.engine.chattts.driver import Driver
from cloud.engine.chattts.linear import DType
from cloud.engine.chattts.outlet import Outlet
from cloud.engine.chattts.runner import Runner
from cloud.engine.chattts.sampler import Sampling, sample
from cloud.engine.chattts.scheduler import Choose, Scheduler
from cloud.engine.chattts.script import Line, lines
from cloud.engine.chattts.sequence import USUAL_SPEED, Tokenizer, speed_level
from cloud.engine.chattts.stream import Vocoder
from cloud.engine.chattts.utterance import Manner, Utterance, longest_piece
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError

NAME = "chattts"
MIB = 1 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How the engine runs.

    Attributes:
        slots: Jobs that run in one step.
        places: Jobs that it takes at the same time; more than slots, so that a short
            one need not wait for long ones outside.
        prompt_tokens: Prompt tokens that one step takes on.
        cache_mib: Memory for keys and values, MiB; 120 KiB a token at full size.
        dtype: fp32, bf16, or int8 (other sound: opt in after listening).
        device: A torch device.
        threads: Threads of a step on a processor.
        has_graphs: Whether steps have fixed sizes, which a GPU records and replays.
        is_refined: Whether the model first sets breaks into a text.
        has_markup: Whether ``[laugh]``, ``[uv_break]`` and ``[lbreak]`` in a text are
            meant; else they are silent.
        sampling: How codes are drawn.
        ahead_s: Seconds of sound that may wait for a listener before its job stands
            still.
        patience_s: Seconds after which a step counts as hung.
        warm_up: Common sentences spoken before it is ready, at most 100.
        sha256: The digest that the assets must have; None trusts what is there.
    """

    slots: int = 16
    places: int = 64
    prompt_tokens: int = 32
    cache_mib: int = 4096
    dtype: DType = "fp32"
    device: str = "cpu"
    threads: int = 2
    has_graphs: bool = False
    is_refined: bool = False
    has_markup: bool = False
    sampling: Sampling = Sampling()  # noqa: RUF009 - it is frozen
    ahead_s: float = 30.0
    patience_s: float = 60.0
    warm_up: int = len(warm_up.SENTENCES)
    sha256: str | None = None


@dataclass(frozen=True)
class _Loaded:
    """What start made of the assets."""

    digest: str
    driver: Driver
    vocoder: Vocoder
    tokenizer: Tokenizer
    repertoire: Mapping[str, tuple[str, ...]]
    speakers: Mapping[tuple[str, str], Tensor | None]
    longest: int


class ChatTtsEngine:
    """Speaks jobs with ChatTTS's weights, which whoever runs it brings."""

    name = NAME
    enforced = False

    def __init__(
        self,
        directory: Path,
        options: Options | None = None,
        *,
        choose: Choose = sample,
    ) -> None:
        """Remember where the assets lie; :meth:`start` loads them.

        Args:
            directory: The asset folder.
            options: How to run.
            choose: Draws codes; a test may force its own.
        """
        self._directory = directory
        self._options = options or Options()
        self._choose = choose
        self.slots = self._options.slots
        self.places = max(self._options.places, self.slots)
        self._loaded: _Loaded | None = None
        self._is_warm = False
        self._is_hung = False
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """The voices in the assets' folder, or one that is drawn."""
        return dict(self._loaded.repertoire) if self._loaded is not None else {}

    @property
    def is_ready(self) -> bool:
        """Whether it is warm, and no step hangs."""
        return self._is_warm and not self._is_hung

    def origin(self, voice: str, dialect: str) -> Origin:
        """The digest of the assets; verified where a digest was asked for."""
        digest = self._running().digest
        is_verified = self._options.sha256 is not None
        return Origin(NAME, f"{NAME}@{digest[:12]}", digest, is_verified)

    def load(self) -> Load:
        """Count what runs and what was done."""
        if self._loaded is None:
            return Load(0, 0, 0, 0)
        scheduler = self._loaded.driver.scheduler
        return Load(
            scheduler.running, scheduler.waiting, scheduler.steps, scheduler.tokens
        )

    async def start(self) -> None:
        """Check and load the assets, then warm up.

        Raises:
            YaoheError: ``pack_invalid``.
        """
        loaded = await asyncio.to_thread(self._load)
        self._loaded = loaded
        self._is_over.clear()
        self._threads = [
            threading.Thread(target=work, args=(loaded.driver,), name=NAME, daemon=True)
            for work in (self._work, self._watch)
        ]
        for thread in self._threads:
            thread.start()
        await self._warm(loaded)
        self._is_warm = True

    async def stop(self) -> None:
        """End after the running step and let the weights go."""
        loaded, self._loaded, self._is_warm = self._loaded, None, False
        self._is_over.set()
        if loaded is not None:
            loaded.driver.stop()
        # A step that hangs for good must not keep the process from ending.
        for thread in self._threads:
            await asyncio.to_thread(thread.join, self._options.patience_s)
        self._threads = []

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Speak a job.

        Args:
            job: What to say; its text is words.

        Yields:
            Samples, the first after about twelve steps.

        Raises:
            YaoheError: ``unreadable_text`` for characters that the model has no token
                for, ``nothing_to_say``, ``input_too_long``, ``not_ready``, or
                ``voice_unavailable`` where a step hangs.
        """
        loaded = self._running()
        if self._is_hung:
            raise _hung()
        if job.pitch:
            raise YaoheError(
                "invalid_request", "this engine cannot shift its pitch", param="pitch"
            )
        said = await asyncio.to_thread(
            lines,
            job.reading,
            loaded.tokenizer,
            loaded.longest,
            has_markup=self._options.has_markup,
        )
        manner = Manner(
            speaker=loaded.speakers[job.voice, job.dialect],
            speed=speed_level(job.speed),
            seed=_seed(job),
            gain=10.0 ** (job.volume / 20),
            is_refined=self._options.is_refined,
            sampling=replace(self._options.sampling, **job.drawing.asked()),
        )
        async with aclosing(self._spoken(loaded, said, manner)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _spoken(
        self, loaded: _Loaded, said: Sequence[Line], manner: Manner
    ) -> AsyncGenerator[Chunk, None]:
        """Words as sound; whoever closes stops them before the next step."""
        driver = loaded.driver
        outlet = Outlet(
            int(self._options.ahead_s * SAMPLE_RATE),
            on_room=lambda: driver.go_on(utterance),
        )
        utterance = Utterance(said, manner, loaded.tokenizer, loaded.vocoder, outlet)
        driver.begin(utterance)
        try:
            while (chunk := await outlet.get()) is not None:
                yield chunk
        finally:
            driver.leave(utterance)

    async def _warm(self, loaded: _Loaded) -> None:
        """Speak the beginnings of common sentences to nobody."""
        options = self._options
        sampling = replace(options.sampling, max_steps=warm_up.STEPS)
        speaker = next(iter(loaded.speakers.values()))
        turns = asyncio.Semaphore(self.places)

        async def begin(text: str) -> None:
            async with turns:
                said = [Line(loaded.tokenizer.words(text))]
                manner = Manner(speaker, USUAL_SPEED, seed=0, sampling=sampling)
                async with aclosing(self._spoken(loaded, said, manner)) as chunks:
                    async for _ in chunks:
                        pass

        await asyncio.gather(*map(begin, warm_up.SENTENCES[: options.warm_up]))

    def _running(self) -> _Loaded:
        """What is loaded."""
        if self._loaded is None:
            raise YaoheError("not_ready", "the assets are not loaded")
        return self._loaded

    def _load(self) -> _Loaded:
        """Everything from the files; the weights themselves stay packed only."""
        options = self._options
        assets = load(self._directory)
        if options.sha256 not in (None, assets.digest):
            raise YaoheError(
                "pack_invalid",
                f"{self._directory} has the digest {assets.digest}, "
                f"{options.sha256} was asked for",
            )
        _log.warning("terms of the weights: %s", assets.licence)
        runner = Runner(
            assets,
            budget_bytes=options.cache_mib * MIB,
            dtype=options.dtype,
            device=options.device,
            has_graphs=options.has_graphs,
        )
        scheduler = Scheduler(
            runner,
            rows=options.slots,
            prompt_tokens=options.prompt_tokens,
            choose=self._choose,
        )
        vocoder = Vocoder(assets, device=options.device)
        longest = min(longest_piece(scheduler.longest), LONGEST)
        if longest < 1:
            raise YaoheError(
                "invalid_request", "the memory for keys and values holds no sentence"
            )
        voices = _voices(self._directory, assets)
        return _Loaded(
            assets.digest,
            Driver(scheduler, vocoder),
            vocoder,
            Tokenizer(assets.tokenizer),
            voices.repertoire,
            {
                key: None if vector is None else torch.from_numpy(vector)
                for key, vector in voices.vectors.items()
            },
            longest,
        )

    def _work(self, driver: Driver) -> None:
        """The thread that steps."""
        # The number of threads belongs to the thread that calls.
        torch.set_num_threads(self._options.threads)
        driver.run()

    def _watch(self, driver: Driver) -> None:
        """The thread that sees to it that steps end."""
        patience = self._options.patience_s
        while not self._is_over.wait(min(patience / 4, 1.0)):
            was_hung, self._is_hung = self._is_hung, driver.stuck_s > patience
            if self._is_hung and not was_hung:
                _log.critical("a step has not ended for %.0f s", driver.stuck_s)
                driver.fail(_hung())


def _hung() -> YaoheError:
    """What callers are told while a step hangs."""
    return YaoheError("voice_unavailable", "the engine hangs; it was logged")


def _seed(job: Job) -> int:
    """Where a job's random numbers begin: the same words sound the same."""
    if job.seed is not None:
        return job.seed % (1 << 63)
    named = f"{job.voice}\n{job.dialect}\n{job.text}".encode()
    return int.from_bytes(hashlib.sha256(named).digest()[:8], "big") >> 1


def _voices(directory: Path, assets: Assets) -> speakers.Speakers:
    """The voices beside the assets, or one that is drawn, or one the model chooses."""
    stat = assets.speaker_stat
    known = None if stat is None else (stat[0].numpy(), stat[1].numpy())
    folder = directory / speakers.FOLDER
    if folder.is_dir():
        return speakers.load(folder, assets.shape.hidden, known)
    vector = None if known is None else speakers.drawn(0, *known)
    return speakers.Speakers({("default", speakers.DEFAULT_DIALECT): vector})
