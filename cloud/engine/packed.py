"""Packs as an engine: the voices of this project, on a processor, in a server.

Several packs may speak side by side; each answers for its own voices and dialects, and
where two have the same one the first named has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cloud.engine.base import Chunk, Job, Origin
from cloud.engine.threads import steps
from common.errors import YaoheError
from common.speech import Pauses
from common.voice.bases import Bases, among
from common.voice.pack import dialect_directories, load_pack, starter_directory
from common.voice.runtime import DEFAULT_THREADS
from common.voice.speak import Speaker

NAME = "packed"

SLOTS = 8
"""Utterances that share the threads, chunk by chunk."""
RUNS = 1
"""Chunks made at the same time."""


@dataclass(frozen=True)
class PackedVoice:
    """A loaded pack and whether something vouches for it.

    Attributes:
        speaker: What speaks.
        is_verified: Whether a signature, or the wheel it came in, vouches for it.
    """

    speaker: Speaker
    is_verified: bool


class PackedEngine:
    """Packs behind the engine protocol."""

    name = NAME
    enforced = True

    def __init__(
        self,
        packs: Sequence[Path] = (),
        *,
        is_unsigned_allowed: bool = False,
        threads: int = DEFAULT_THREADS,
        slots: int = SLOTS,
        runs: int = RUNS,
    ) -> None:
        """Remember where the packs lie; :meth:`start` loads them.

        Args:
            packs: Folders of packs, the preferred first; none means those that came
                with the software.
            is_unsigned_allowed: Whether a pack without a signature may speak.
            threads: Threads of one run.
            slots: Utterances that take turns.
            runs: Chunks made at the same time.
        """
        self.slots = slots
        self._packs = tuple(packs)
        self._is_unsigned_allowed = is_unsigned_allowed
        self._threads = threads
        self._runs = runs
        self._voices: dict[tuple[str, str], PackedVoice] = {}
        self._pool: ThreadPoolExecutor | None = None

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """What the packs speak, in the order in which they were named."""
        spoken: dict[str, tuple[str, ...]] = {}
        for voice, dialect in self._voices:
            spoken[voice] = (*spoken.get(voice, ()), dialect)
        return spoken

    @property
    def is_ready(self) -> bool:
        """Whether the packs are loaded."""
        return bool(self._voices)

    def origin(self, voice: str, dialect: str) -> Origin:
        """The pack that speaks for a voice and dialect."""
        chosen = self._voices[voice, dialect]
        pack = chosen.speaker.pack
        return Origin(NAME, pack.label, pack.sha256, chosen.is_verified)

    async def start(self) -> None:
        """Check and load the packs.

        Raises:
            YaoheError: ``pack_invalid``.
        """
        self._pool = ThreadPoolExecutor(self._runs, thread_name_prefix=NAME)
        self._voices = await asyncio.wrap_future(self._pool.submit(self._load))

    def _load(self) -> dict[tuple[str, str], PackedVoice]:
        """Every pack by what it speaks."""
        own = (starter_directory(), *dialect_directories())
        bases = Bases(among((*self._packs, *own)), threads=self._threads)
        is_trusted = self._is_unsigned_allowed or not self._packs
        voices: dict[tuple[str, str], PackedVoice] = {}
        for path in self._packs or own:
            speaker = bases.speaker(load_pack(path, trusted=is_trusted))
            # A folder that was merely allowed is trusted, but nothing vouches for it.
            packed = PackedVoice(speaker, is_verified=not self._packs)
            for voice in speaker.voices:
                for dialect in speaker.dialects:
                    voices.setdefault((voice, dialect), packed)
        return voices

    async def stop(self) -> None:
        """Wait for running chunks and let the packs go."""
        pool, self._pool, self._voices = self._pool, None, {}
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)

    def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Speak a job, chunk by chunk."""
        if self._pool is None:
            raise YaoheError("not_ready", "the packs are not loaded")
        speaker = self._voices[job.voice, job.dialect].speaker
        return steps(_spoken(speaker, job), self._pool)

    async def clause_ends(self, job: Job) -> Pauses:
        """Say where a job's clauses will end: symbols and samples before it."""
        if self._pool is None:
            raise YaoheError("not_ready", "the packs are not loaded")
        speaker = self._voices[job.voice, job.dialect].speaker
        return await asyncio.wrap_future(
            self._pool.submit(
                speaker.clause_ends,
                job.symbols,
                voice=job.voice,
                dialect=job.dialect,
                speed=job.speed,
            )
        )


def _spoken(speaker: Speaker, job: Job) -> Generator[Chunk, None, None]:
    """A job's chunks as a generator that can be closed."""
    yield from speaker.speak(
        job.symbols,
        voice=job.voice,
        dialect=job.dialect,
        speed=job.speed,
        pitch=job.pitch,
        volume=job.volume,
    )
