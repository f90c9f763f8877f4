"""Workers for tests: real gRPC on loopback around an engine of the test's choice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from cloud.engine.base import Engine, Job
from cloud.metrics import Metrics
from cloud.settings import WorkerSettings
from cloud.worker import channel
from cloud.worker.client import RemoteEngine
from cloud.worker.server import Worker
from cloud.worker.synthesizer_pb2_grpc import add_SynthesizerServicer_to_server
from common.speech import new_utterance
from common.text import read


class Listening:
    """A worker in this process.

    Attributes:
        worker: What answers.
        address: Where it answers.
    """

    def __init__(self, engine: Engine, capacity: int = 8) -> None:
        self.worker = Worker(engine, capacity, Metrics())
        self._server = grpc.aio.server(options=channel.SERVER_OPTIONS)
        add_SynthesizerServicer_to_server(  # type: ignore[no-untyped-call]
            self.worker, self._server
        )
        self._port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        self._port = channel.listening(self._server, WorkerSettings(port=port))
        await self._server.start()

    async def vanish(self) -> None:
        """Break every call off, as a process does that is killed."""
        await self._server.stop(None)


@asynccontextmanager
async def listening(engine: Engine, capacity: int = 8) -> AsyncIterator[Listening]:
    """A worker around an engine while the block runs."""
    worker = Listening(engine, capacity)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.vanish()


@asynccontextmanager
async def connected(engine: Engine, capacity: int = 8) -> AsyncIterator[RemoteEngine]:
    """The same, seen from the other side."""
    async with listening(engine, capacity) as worker:
        remote = RemoteEngine(worker.address, WorkerSettings(look_s=0.05))
        await remote.start()
        try:
            yield remote
        finally:
            await remote.stop()


def job(
    text: str = "今日特价",
    *,
    voice: str = "woman",
    dialect: str = "zh",
    deadline: float | None = None,
    seed: int | None = None,
    speed: float = 1.0,
) -> Job:
    """A job that says a text."""
    return Job(
        new_utterance(),
        read(text, dialect),
        voice=voice,
        dialect=dialect,
        deadline=deadline,
        seed=seed,
        speed=speed,
    )
