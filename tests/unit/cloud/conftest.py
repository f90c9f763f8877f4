"""An engine as real as any, made of tones: it loads nothing and speaks at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import numpy as np
import pytest

from cloud.dispatch import Dispatch
from cloud.engine.base import Chunk, Job, Origin
from cloud.metrics import Metrics
from cloud.settings import CloudSettings
from common.receipts import ReceiptBook

SYLLABLE = 2400


class ToneEngine:
    """A tone for each syllable; stands still while its gate is closed."""

    name = "tone"
    enforced = True

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots
        self.repertoire = {"woman": ("zh", "sc"), "man": ("zh",)}
        self.is_ready = True
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = 0
        self.ended = 0
        self.made = 0
        self.failure: Exception | None = None
        self.fails_after: int | None = None

    def origin(self, voice: str, dialect: str) -> Origin:
        return Origin("tone", "tone@1", "0" * 64, verified=True)

    async def start(self) -> None:
        self.is_ready = True

    async def stop(self) -> None:
        self.is_ready = False

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        self.begun += 1
        try:
            for index, _ in enumerate(job.reading.surface):
                await self.gate.wait()
                if self.failure is not None and index == (self.fails_after or 0):
                    raise self.failure
                turn = np.arange(SYLLABLE) * (2 * np.pi * (200 + 20 * index) / 24_000)
                self.made += 1
                yield (0.3 * np.sin(turn)).astype(np.float32)
                await asyncio.sleep(0)
        finally:
            self.ended += 1


@pytest.fixture
def engine() -> ToneEngine:
    return ToneEngine()


@pytest.fixture
def settings() -> CloudSettings:
    return CloudSettings()


@pytest.fixture
def dispatch_of() -> Callable[..., Dispatch]:
    def build(engine: ToneEngine, settings: CloudSettings | None = None) -> Dispatch:
        return Dispatch(engine, settings or CloudSettings(), Metrics(), ReceiptBook())

    return build
