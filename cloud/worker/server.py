"""A worker: one engine behind gRPC, until it is told to stop.

Rules: a caller that leaves stops its job at the engine's next step; a full worker says
so at once; a worker that is told to stop takes nothing new, ends what runs, and leaves
the health service's ``SERVING`` before it does either.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health

from cloud.engine.base import Chunk, Engine, Job, KnowsClauses, places
from cloud.metrics import Metrics, served
from cloud.settings import CloudSettings
from cloud.worker import channel
from cloud.worker import synthesizer_pb2 as pb
from cloud.worker import wire
from cloud.worker.synthesizer_pb2_grpc import (
    SynthesizerServicer,
    add_SynthesizerServicer_to_server,
)
from common import log
from common.admission import Admission
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError

Context = grpc.aio.ServicerContext[object, object]

LOCAL = ("127.0.0.1", "::1", "localhost")
"""Addresses that nobody else reaches."""

_log = logging.getLogger(__name__)


class Worker(SynthesizerServicer):
    """An engine's jobs, as calls."""

    def __init__(self, engine: Engine, capacity: int, metrics: Metrics) -> None:
        """Stand before an engine.

        Args:
            engine: What speaks.
            capacity: Jobs that may wait for a place in it.
            metrics: Where to count.
        """
        self._engine = engine
        self._metrics = metrics
        self._admission = Admission(places(engine), capacity)
        self.is_draining = False
        metrics.watch(engine, self._admission)

    async def Describe(
        self, request: pb.DescribeRequest, context: Context
    ) -> pb.Description:
        """What the engine is, and how busy."""
        engine = self._engine
        is_ready = engine.is_ready and not self.is_draining
        speaks = [
            pb.Speaks(
                voice=voice,
                dialect=dialect,
                origin=wire.origin_message(engine.origin(voice, dialect)),
            )
            for voice, dialects in (engine.repertoire if is_ready else {}).items()
            for dialect in dialects
        ]
        return pb.Description(
            engine=engine.name,
            enforced=engine.enforced,
            ready=is_ready,
            slots=places(engine),
            jobs=self._admission.working + self._admission.waiting,
            speaks=speaks,
        )

    async def Synthesize(self, request: pb.Job, context: Context) -> None:
        """Speak a job to whoever called."""
        with log.about(request.utterance[:64]):
            try:
                job = self._checked(request)
                # No generator: gRPC would not close it when the caller leaves.
                async with aclosing(self._spoken(job)) as chunks:
                    async for chunk in chunks:
                        for sound in wire.sounds_of(chunk):
                            await context.write(sound)
            except YaoheError as error:
                await self._refuse(context, error)
            except Exception:  # noqa: BLE001 - an engine may fail in any way
                _log.exception("a job failed")
                wrong = YaoheError("internal_error", "the worker failed; it was logged")
                await self._refuse(context, wrong)

    async def ClauseEnds(self, request: pb.Job, context: Context) -> pb.Pauses:
        """Where the job's clauses will end."""
        try:
            job = self._checked(request)
            if not isinstance(self._engine, KnowsClauses):
                return pb.Pauses()
            return wire.pauses_message(await self._engine.clause_ends(job))
        except YaoheError as error:
            await self._refuse(context, error)
            raise

    def _checked(self, request: pb.Job) -> Job:
        """The job in a call, if the engine can do it now."""
        job = wire.job_of(request)
        if self.is_draining or not self._engine.is_ready:
            raise YaoheError("not_ready", "the worker takes no jobs", retry_after_s=1)
        if job.dialect not in self._engine.repertoire.get(job.voice, ()):
            raise YaoheError(
                "unknown_voice",
                f"no voice {job.voice!r} for {job.dialect!r} here",
                param="voice",
            )
        return job

    async def _spoken(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """A job's sound, the first of it within its deadline."""
        began = time.monotonic()
        async with aclosing(self._made(job)) as chunks:
            left = None if job.deadline is None else job.deadline - began
            try:
                first = await asyncio.wait_for(anext(chunks, None), left)
            except asyncio.TimeoutError:
                raise YaoheError(
                    "deadline_exceeded", "no sound within the deadline"
                ) from None
            if first is None:
                return
            self._metrics.began("cloud", time.monotonic() - began)
            yield first
            async for chunk in chunks:
                yield chunk

    async def _made(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """A job's sound, made in a slot and counted."""
        samples = 0
        try:
            async with self._admission.slot():
                began = time.monotonic()
                async with aclosing(self._engine.synthesize(job)) as chunks:
                    async for chunk in chunks:
                        samples += chunk.size
                        yield chunk
        except (GeneratorExit, asyncio.CancelledError):
            self._metrics.stopped.inc()
            _log.info("stopped")
            raise
        worked = time.monotonic() - began
        self._metrics.finished(self._engine.name, samples / SAMPLE_RATE, worked)

    async def _refuse(self, context: Context, error: YaoheError) -> None:
        """End a call with an error of ours."""
        self._metrics.errors.labels(error.code).inc()
        status, details, metadata = wire.status_of(error)
        await context.abort(status, details, metadata)


async def serve(
    engine: Engine,
    settings: CloudSettings,
    listens: Callable[[str], object],
) -> None:
    """Run a worker until SIGTERM or SIGINT; a second one ends it at once.

    Args:
        engine: What speaks.
        settings: The cloud's settings.
        listens: Told the address as soon as the worker answers there.

    Raises:
        YaoheError: The address is taken, or the engine cannot be loaded.
    """
    metrics = Metrics()
    worker = Worker(engine, settings.queue.capacity, metrics)
    life = health.HealthServicer()
    for name in ("", wire.SERVICE):
        await life.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
    server = grpc.aio.server(options=channel.SERVER_OPTIONS)
    add_SynthesizerServicer_to_server(worker, server)  # type: ignore[no-untyped-call]
    health_pb2_grpc.add_HealthServicer_to_server(life, server)
    port = channel.listening(server, settings.worker)
    if settings.worker.certificate is None and settings.worker.host not in LOCAL:
        _log.warning("anybody who reaches %s may have it speak", settings.worker.host)
    stopping = _signals()
    with served(metrics, settings.worker.host, settings.worker.metrics_port):
        await server.start()
        listens(f"{settings.worker.host}:{port}")
        try:
            if await _loaded(engine, stopping):
                for name in ("", wire.SERVICE):
                    await life.set(name, health_pb2.HealthCheckResponse.SERVING)
                _log.info("ready", extra={"engine": engine.name})
                await stopping.get()
        finally:
            worker.is_draining = True
            await life.enter_graceful_shutdown()
            await _drained(server, settings.worker.goodbye_s, stopping)
            await engine.stop()


def _signals() -> asyncio.Queue[None]:
    """Gets an entry for each wish that the process ends."""
    wishes: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, wishes.put_nowait, None)
    return wishes


async def _loaded(engine: Engine, stopping: asyncio.Queue[None]) -> bool:
    """Load the engine, unless the process shall end first."""
    loading = asyncio.ensure_future(engine.start())
    wish = asyncio.ensure_future(stopping.get())
    await asyncio.wait({loading, wish}, return_when=asyncio.FIRST_COMPLETED)
    if loading.done():
        wish.cancel()
        loading.result()
        return True
    loading.cancel()
    with suppress(asyncio.CancelledError):
        await loading
    return False


async def _drained(
    server: grpc.aio.Server, goodbye_s: float, stopping: asyncio.Queue[None]
) -> None:
    """Let what runs come to its end, within its time and unless told again."""
    ending = asyncio.ensure_future(server.stop(goodbye_s))
    again = asyncio.ensure_future(stopping.get())
    await asyncio.wait({ending, again}, return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():
        await server.stop(None)
    again.cancel()
    await ending


def run(
    engine: Engine, settings: CloudSettings, listens: Callable[[str], object]
) -> None:
    """Run a worker in an event loop of its own; see :func:`serve`."""
    asyncio.run(partial(serve, engine, settings, listens)())
