"""Sounds that are shaped like speech, and speeches to answer with."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import numpy as np
import pytest

from common.audio.opus import encode_master
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import AigcLabel, Provenance
from common.speech import Speech, Whole
from common.text import read
from common.text.receipt import Receipt

TEXT = "今日特价，新鲜草莓每斤9.9元"


@pytest.fixture
def sound() -> Callable[[int], Pcm]:
    """A gliding tone with fourteen partials, swelling three times a second."""

    def make(samples: int) -> Pcm:
        at = np.arange(samples) / SAMPLE_RATE
        pitch = 150 + 40 * np.sin(2 * np.pi * 1.3 * at)
        phase = 2 * np.pi * np.cumsum(pitch) / SAMPLE_RATE
        partials = sum(np.sin(k * phase) / k for k in range(1, 15))
        return (0.2 * partials * (0.5 + 0.5 * np.sin(6 * np.pi * at + 1))).astype("f4")

    return make


@pytest.fixture
def provenance() -> Provenance:
    return Provenance(
        engine="packed",
        pack="woman@1.2.0",
        pack_sha256="5a" * 32,
        verified=True,
        table_version=1,
        rules_version=3,
        label=AigcLabel(producer="某某连锁", produce_id="u-17"),
    )


class Engine:
    """Gives chunks and knows whether it was stopped."""

    def __init__(self, *chunks: Pcm | Exception) -> None:
        self.chunks = chunks
        self.given = 0
        self.is_stopped = False

    async def run(self) -> AsyncGenerator[Pcm, None]:
        try:
            for chunk in self.chunks:
                if isinstance(chunk, Exception):
                    raise chunk
                self.given += 1
                yield chunk
        finally:
            self.is_stopped = True


@pytest.fixture
def engine() -> type[Engine]:
    return Engine


@pytest.fixture
def live(provenance: Provenance) -> Callable[[Engine], Speech]:
    """A speech that an engine is still making."""

    def make(engine: Engine) -> Speech:
        receipt = Receipt("u-17", read(TEXT), True)
        chunks = engine.run()
        return Speech("u-17", receipt, "edge", "pack", provenance, chunks=chunks)

    return make


@pytest.fixture
def cached(provenance: Provenance) -> Callable[[Pcm], Speech]:
    """A speech from the cache: a master and nothing else."""

    def make(pcm: Pcm) -> Speech:
        receipt = Receipt("u-17", read(TEXT), True)
        master = encode_master(pcm, provenance.comments())
        whole = Whole(master.duration_s, opus=master)
        return Speech("u-17", receipt, "cache", "hit", provenance, whole=whole)

    return make
