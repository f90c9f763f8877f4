"""A worker somewhere else, as an engine.

It is looked at every second: what it speaks, how many jobs it has, whether it takes
more. A call that finds it gone says so with :class:`~cloud.worker.wire.WorkerLost`, and
it counts as gone until a look succeeds. What it spoke is remembered meanwhile, so that
a voice does not become unknown because its worker is restarted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

import grpc

from cloud.engine.base import Chunk, Job, Origin
from cloud.settings import WorkerSettings
from cloud.worker import channel
from cloud.worker import synthesizer_pb2 as pb
from cloud.worker import wire
from cloud.worker.synthesizer_pb2_grpc import SynthesizerStub
from common.errors import YaoheError
from common.speech import Pauses

LOOK_TIMEOUT_S = 5.0
"""Seconds that a worker has to say how it is."""
ASK_TIMEOUT_S = 10.0
"""Seconds that a worker has to say where clauses end."""

_log = logging.getLogger(__name__)


class RemoteEngine:
    """One worker behind the engine protocol.

    Attributes:
        address: Where it is, HOST:PORT.
        jobs: Jobs that it has of ours.
    """

    def __init__(
        self,
        address: str,
        settings: WorkerSettings,
        tell: Callable[[], object] = lambda: None,
    ) -> None:
        """Remember where it is; :meth:`start` connects.

        Args:
            address: HOST:PORT.
            settings: How often to look, how long to wait, certificates.
            tell: Called when it came or went.
        """
        self.address = address
        self.jobs = 0
        self._settings = settings
        self._tell = tell
        self._known = pb.Description(engine="worker")
        self._origins: dict[tuple[str, str], Origin] = {}
        self._is_there = False
        self._came = asyncio.Event()
        self._channel: grpc.aio.Channel | None = None
        self._stub: Any = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The name of the worker's engine."""
        return self._known.engine

    @property
    def enforced(self) -> bool:
        """Whether the worker's engine speaks our symbols."""
        return self._known.enforced

    @property
    def slots(self) -> int:
        """Jobs that the worker takes at the same time."""
        return self._known.slots

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """What the worker spoke when it was last seen."""
        spoken: dict[str, tuple[str, ...]] = {}
        for voice, dialect in self._origins:
            spoken[voice] = (*spoken.get(voice, ()), dialect)
        return spoken

    @property
    def is_ready(self) -> bool:
        """Whether the worker is there and takes jobs."""
        return self._is_there

    @property
    def load(self) -> float:
        """Jobs for each slot, those of other services included."""
        return max(self.jobs, self._known.jobs) / max(self.slots, 1)

    def origin(self, voice: str, dialect: str) -> Origin:
        """What speaks there for a voice and dialect."""
        return self._origins[voice, dialect]

    def speaks(self, voice: str, dialect: str) -> bool:
        """Whether the worker has a voice and dialect."""
        return (voice, dialect) in self._origins

    async def start(self) -> None:
        """Connect, and wait until the worker takes jobs."""
        self._channel = channel.opened(self.address, self._settings)
        self._stub = SynthesizerStub(self._channel)  # type: ignore[no-untyped-call]
        self._looking = asyncio.create_task(self._look_again_and_again())
        await self._came.wait()

    async def stop(self) -> None:
        """Hang up."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
        self._is_there = False

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Have a job spoken; see the module.

        Args:
            job: The job.

        Yields:
            Its sound, bit for bit as the worker's engine makes it.

        Raises:
            YaoheError: The worker's own error, or ``WorkerLost``.
        """
        if not self._is_there:
            raise self._lost()
        call = self._stub.Synthesize(wire.message_of(job))
        sounds = aiter(call)
        self.jobs += 1
        patience = self._settings.silence_s
        if job.deadline is not None:
            # It may wait for its turn there, and the worker keeps to the deadline.
            patience += max(job.deadline - time.monotonic(), 0.0)
        try:
            while sound := await asyncio.wait_for(anext(sounds, None), patience):
                yield wire.chunk_of(sound)
                patience = self._settings.silence_s
        except grpc.aio.AioRpcError as failure:
            raise self._failed(failure) from None
        except asyncio.TimeoutError:
            self._leave()
            raise wire.WorkerLost(
                "voice_unavailable", f"worker {self.address} fell silent"
            ) from None
        finally:
            self.jobs -= 1
            call.cancel()

    async def clause_ends(self, job: Job) -> Pauses:
        """Ask where a job's clauses will end.

        Args:
            job: The job.

        Returns:
            The ends, none where the worker's engine does not know.

        Raises:
            YaoheError: The worker's own error, or ``WorkerLost``.
        """
        if not self._is_there:
            raise self._lost()
        try:
            pauses = await self._stub.ClauseEnds(
                wire.message_of(job), timeout=ASK_TIMEOUT_S
            )
        except grpc.aio.AioRpcError as failure:
            raise self._failed(failure) from None
        return wire.pauses_of(pauses)

    async def _look_again_and_again(self) -> None:
        """Keep what is known of the worker fresh."""
        while True:
            with suppress(grpc.aio.AioRpcError):
                await self._look()
            await asyncio.sleep(self._settings.look_s)

    async def _look(self) -> None:
        """Ask the worker what it is."""
        try:
            known = await self._stub.Describe(
                pb.DescribeRequest(), timeout=LOOK_TIMEOUT_S
            )
        except grpc.aio.AioRpcError:
            self._leave()
            raise
        if not known.ready:
            self._leave()
            return
        was = (self._is_there, self.slots)
        self._known = known
        self._origins = {
            (one.voice, one.dialect): wire.origin_of(one.origin) for one in known.speaks
        }
        self._is_there = True
        self._came.set()
        if was != (True, self.slots):
            _log.info("a worker is there", extra={"worker": self.address})
            self._tell()

    def _leave(self) -> None:
        """Count the worker as gone, until a look finds it."""
        if self._is_there:
            self._is_there = False
            _log.warning("a worker is gone", extra={"worker": self.address})
            self._tell()

    def _failed(self, failure: grpc.aio.AioRpcError) -> YaoheError:
        """The error behind a failed call."""
        error = wire.error_of(failure, self.address)
        if isinstance(error, wire.WorkerLost):
            self._leave()
        return error

    def _lost(self) -> YaoheError:
        return wire.WorkerLost(
            "voice_unavailable", f"worker {self.address} is not there", retry_after_s=1
        )
