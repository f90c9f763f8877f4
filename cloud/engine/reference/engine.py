"""The ChatTTS package as an engine: what it speaks, one job after another.

It is here to compare with. The package delivers a text's sound when all of it is made,
so the first sound is late, and everybody waits for the one who came first.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cloud.engine.base import Chunk, Job, Origin
from cloud.engine.chattts.clauses import pieces
from cloud.engine.reference.client import PackageProcess
from cloud.engine.threads import steps
from common.errors import YaoheError

NAME = "reference"
VOICE = "default"
DIALECTS = ("zh",)
DEFAULT_PYTHON = Path(".venv-reference/bin/python")
"""Where ``make reference`` puts the package, seen from the checkout."""
THREADS = 2
MAX_STEPS = 2048
"""Steps of a piece at most, 43.7 seconds: the package's own default."""
CHUNK = 24_000
"""Samples that are handed out at once."""
LEAST_TEMPERATURE = 1e-6
DRAWING = {"top_p": "top_P", "top_k": "top_K"}
"""Parameters that the package names in another way."""
_SEEDS = 1 << 32
_BLOCK_BYTES = 1 << 20


@dataclass
class _Wanted:
    """Whether a job's listener is still there, and what is asked for it.

    Attributes:
        is_wanted: False once the listener is gone.
        number: The package's number of the running request, 0 for none.
    """

    is_wanted: bool = field(default=True)
    number: int = 0


class ReferenceEngine:
    """The package, in a process of its own, behind the engine protocol."""

    name = NAME
    enforced = False
    slots = 1

    def __init__(
        self,
        directory: Path,
        *,
        python: Path = DEFAULT_PYTHON,
        threads: int = THREADS,
        max_steps: int = MAX_STEPS,
    ) -> None:
        """Remember where everything lies; :meth:`start` starts the process.

        Args:
            directory: The asset folder.
            python: The interpreter of the environment that has the package.
            threads: Threads that it computes with.
            max_steps: Steps of a piece at most, 512 samples each.
        """
        self._directory = directory
        self._python = python
        self._threads = threads
        self._max_steps = max_steps
        self._package: PackageProcess | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._speaker = ""
        self._digest = ""

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """One voice, drawn once."""
        return {VOICE: DIALECTS}

    @property
    def is_ready(self) -> bool:
        """Whether the process runs."""
        return self._package is not None and self._package.is_alive

    def origin(self, voice: str, dialect: str) -> Origin:
        """The digest of the weights; nobody vouches for it."""
        pack = f"ChatTTS@{self._digest[:12]}"
        return Origin(NAME, pack, self._digest, verified=False)

    async def start(self) -> None:
        """Start the process and load the weights.

        Raises:
            YaoheError: ``pack_invalid``: there is no package, or it refuses the files.
        """
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=NAME)
        await asyncio.wrap_future(self._pool.submit(self._load))

    def _load(self) -> None:
        package = PackageProcess(self._python, self._directory, threads=self._threads)
        try:
            self._speaker = package.speaker(0)
            self._digest = _digest(self._directory / "asset")
        except BaseException:
            package.close()
            raise
        self._package = package

    async def stop(self) -> None:
        """End the process after the running job."""
        pool, self._pool = self._pool, None
        package, self._package = self._package, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)
        if package is not None:
            await asyncio.to_thread(package.close)

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Speak a job, piece by piece.

        Args:
            job: What to say; its text is words.

        Yields:
            Samples.

        Raises:
            YaoheError: ``not_ready``, ``invalid_request`` for a pitch or a speed, which
                the package does not promise, ``nothing_to_say``, or
                ``voice_unavailable`` where the process failed.
        """
        package, pool = self._package, self._pool
        if package is None or pool is None:
            raise YaoheError("not_ready", "the ChatTTS package is not loaded")
        for name, value, usual in (
            ("pitch", job.pitch, 0.0),
            ("speed", job.speed, 1.0),
        ):
            if value != usual:
                message = f"this engine cannot change its {name}"
                raise YaoheError("invalid_request", message, param=name)
        texts = pieces(job.text)
        if not texts:
            raise YaoheError("nothing_to_say", "there is nothing to say", param="input")
        wanted = _Wanted()
        spoken = self._spoken(package, texts, job, wanted)
        try:
            async with aclosing(steps(spoken, pool)) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            wanted.is_wanted = False
            if wanted.number:
                with suppress(YaoheError):
                    package.give_up(wanted.number)

    def _spoken(
        self, package: PackageProcess, texts: list[str], job: Job, wanted: _Wanted
    ) -> Generator[Chunk, None, None]:
        """A job's sound; runs on the pool's thread."""
        gain = np.float32(10.0 ** (job.volume / 20))
        for text in texts:
            wanted.number = package.number()
            if not wanted.is_wanted:
                return
            spoken = package.speak(
                [text],
                number=wanted.number,
                spk_emb=self._speaker,
                manual_seed=_seed(job),
                max_new_token=self._max_steps,
                **_drawing(job),
            )
            wanted.number = 0
            sound = np.clip(spoken.sounds[0] * gain, -1.0, 1.0)
            for start in range(0, sound.size, CHUNK):
                yield sound[start : start + CHUNK]


def _drawing(job: Job) -> dict[str, float | int]:
    """How a job is drawn, by the package's names."""
    asked = job.drawing.asked()
    named = {DRAWING.get(name, name): value for name, value in asked.items()}
    if "temperature" in named:
        # The package divides by it; so little takes the most probable always.
        named["temperature"] = max(named["temperature"], LEAST_TEMPERATURE)
    return named


def _seed(job: Job) -> int:
    """A job's seed; the same words sound the same."""
    if job.seed is not None:
        return job.seed % _SEEDS
    return int.from_bytes(hashlib.sha256(job.text.encode()).digest()[:4], "big")


def _digest(folder: Path) -> str:
    """SHA-256 over the digests of a folder's files in order of their names."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        one = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                one.update(block)
        whole.update(one.digest())
    return whole.hexdigest()
