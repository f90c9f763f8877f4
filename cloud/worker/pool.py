"""Several workers as one engine: chosen by voice, dialect and load, replaced when lost.

Rules:

* The first worker that is there and speaks a voice and dialect says by what weights it
  is spoken; only workers with the same weights may take the job, the least busy first.
* A job whose worker is lost before any sound has left goes to another one, once: a job
  that kills its worker must not kill them all. A worker that is full or stops is no
  loss, and is passed over.
* After the first sound nothing is replaced: the error reaches the listener.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from cloud.engine.base import Chunk, Job, Origin
from cloud.settings import WorkerSettings
from cloud.worker.client import RemoteEngine
from cloud.worker.wire import WorkerLost
from common.errors import YaoheError
from common.speech import Pauses

NAME = "workers"
MAX_LOST = 2
"""Workers that one job may lose."""
RETRY_S = 1
"""When to ask again where no worker is there, seconds."""

_PASSED_OVER = ("queue_full", "not_ready")

_log = logging.getLogger(__name__)


class WorkerPool:
    """Workers behind the engine protocol.

    Attributes:
        replaced: Jobs that another worker took over before their first sound.
    """

    name = NAME

    def __init__(self, settings: WorkerSettings) -> None:
        """Remember the workers; :meth:`start` connects.

        Args:
            settings: Names at least one address.
        """
        self.replaced = 0
        self._told: list[Callable[[], object]] = []
        self._workers = [
            RemoteEngine(address, settings, self._changed)
            for address in dict.fromkeys(settings.addresses)
        ]
        self._starting: list[asyncio.Task[None]] = []

    @property
    def enforced(self) -> bool:
        """Whether every worker speaks our symbols: no more than all of them keep."""
        return all(worker.enforced for worker in self._workers if worker.repertoire)

    @property
    def slots(self) -> int:
        """Jobs that the workers which are there take at the same time."""
        return sum(worker.slots for worker in self._workers if worker.is_ready)

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """What the workers speak, those included that are gone for a moment."""
        spoken: dict[str, tuple[str, ...]] = {}
        for worker in self._workers:
            for voice, dialects in worker.repertoire.items():
                have = spoken.get(voice, ())
                spoken[voice] = tuple(dict.fromkeys((*have, *dialects)))
        return spoken

    @property
    def is_ready(self) -> bool:
        """Whether a worker takes jobs."""
        return any(worker.is_ready for worker in self._workers)

    @property
    def ready_workers(self) -> int:
        """Workers that take jobs."""
        return sum(worker.is_ready for worker in self._workers)

    def on_change(self, tell: Callable[[], object]) -> None:
        """Have somebody told when workers came or went."""
        self._told.append(tell)

    def origin(self, voice: str, dialect: str) -> Origin:
        """What speaks for a voice and dialect, now."""
        speaking = [w for w in self._workers if w.speaks(voice, dialect)]
        # A stable sort: those that are there first, in the order of the settings.
        return min(speaking, key=lambda w: not w.is_ready).origin(voice, dialect)

    async def start(self) -> None:
        """Connect to all; returns when the first takes jobs."""
        self._starting = [
            asyncio.create_task(worker.start()) for worker in self._workers
        ]
        done, _ = await asyncio.wait(
            self._starting, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Hang up everywhere."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self._workers))

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Have a job spoken by the least busy worker; see the module.

        Args:
            job: The job.

        Yields:
            Its sound.

        Raises:
            YaoheError: The last worker's error where none could do it.
        """
        origin = self.origin(job.voice, job.dialect)
        tried: list[RemoteEngine] = []
        lost = 0
        failure = YaoheError(
            "voice_unavailable",
            f"no worker for voice {job.voice!r} is there",
            retry_after_s=RETRY_S,
        )
        while lost < MAX_LOST:
            able = self._able(job, origin, tried)
            if not able:
                break
            worker = min(able, key=lambda one: one.load)
            tried.append(worker)
            has_sound = False
            try:
                async with aclosing(worker.synthesize(job)) as chunks:
                    async for chunk in chunks:
                        has_sound = True
                        yield chunk
                return
            except YaoheError as error:
                is_lost = isinstance(error, WorkerLost)
                if has_sound or not (is_lost or error.code in _PASSED_OVER):
                    raise
                failure = error
                lost += is_lost
                self.replaced += is_lost and bool(self._able(job, origin, tried))
                _log.info("passed over", extra={"worker": worker.address})
        raise failure

    async def clause_ends(self, job: Job) -> Pauses:
        """Ask a worker where a job's clauses will end; none where nobody knows."""
        for worker in self._able(job, self.origin(job.voice, job.dialect), ()):
            try:
                return await worker.clause_ends(job)
            except YaoheError as error:
                _log.info("no clauses", extra={"why": error.message})
        return ()

    def _able(
        self, job: Job, origin: Origin, tried: Sequence[RemoteEngine]
    ) -> list[RemoteEngine]:
        """Workers that could take a job now."""
        return [
            worker
            for worker in self._workers
            if worker.is_ready
            and worker not in tried
            and worker.speaks(job.voice, job.dialect)
            and worker.origin(job.voice, job.dialect) == origin
        ]

    def _changed(self) -> None:
        for tell in self._told:
            tell()
