"""Kokoro as an engine: a permissive voice that runs on a processor.

It speaks our symbols (``enforced``), Mandarin only: its alphabet has four tones, so
another dialect's contours would be bent to them, which is not what a receipt promises.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from cloud.engine.base import Chunk, Job, Origin
from cloud.engine.kokoro import assets
from cloud.engine.kokoro.model import Model, load
from cloud.engine.kokoro.pieces import Piece, pieces_of
from cloud.engine.threads import steps
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.voice.runtime import DEFAULT_THREADS

NAME = "kokoro"
DIALECTS = ("zh",)

SLOTS = 4
"""Jobs that share the threads, piece by piece."""
RUNS = 1
"""Runs of the graph at the same time; each uses the threads it is given."""

EDGE_MS = 60
"""The model's own silence that is kept on both sides of a piece, milliseconds."""
SILENCE_LEVEL = 0.005
"""Samples below this are silence (-46 dBFS)."""
MIN_MODEL_SPEED, MAX_MODEL_SPEED = 0.2, 5.0
"""Speeds that the model is ever asked for, prosody included."""


class KokoroEngine:
    """Kokoro-82M behind the engine protocol."""

    name = NAME
    enforced = True

    def __init__(
        self,
        directory: Path,
        *,
        threads: int = DEFAULT_THREADS,
        slots: int = SLOTS,
        runs: int = RUNS,
    ) -> None:
        """Remember where the files lie; :meth:`start` loads them.

        Args:
            directory: Kokoro's folder.
            threads: Threads of one run.
            slots: Jobs that take turns.
            runs: Runs at the same time.
        """
        self.slots = slots
        self._directory = directory
        self._threads = threads
        self._runs = runs
        self._model: Model | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """Ten names, Mandarin each."""
        return dict.fromkeys(assets.VOICES, DIALECTS)

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._model is not None

    def origin(self, voice: str, dialect: str) -> Origin:
        """The model's digest, checked when it was loaded."""
        return Origin(NAME, assets.PACK, assets.MODEL_SHA256, verified=True)

    async def start(self) -> None:
        """Check and load the files.

        Raises:
            YaoheError: ``pack_invalid``.
        """
        self._pool = ThreadPoolExecutor(self._runs, thread_name_prefix=NAME)
        self._model = await asyncio.wrap_future(
            self._pool.submit(load, self._directory, threads=self._threads)
        )

    async def stop(self) -> None:
        """Wait for running pieces and let the model go."""
        pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)

    def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        """Speak a job, a chunk per piece."""
        if self._model is None or self._pool is None:
            raise YaoheError("not_ready", "Kokoro is not loaded")
        return steps(speak(self._model, job), self._pool)


def speak(model: Model, job: Job) -> Generator[Chunk, None, None]:
    """Speak a job piece by piece.

    Args:
        model: A loaded model.
        job: What to say.

    Yields:
        Sound, or the silence of a pause, in order.
    """
    for piece in pieces_of(job.symbols):
        speed = job.speed * piece.speed
        pause_s = piece.pause_ms / 1000 / speed + piece.break_ms / 1000
        silence = np.zeros(round(pause_s * SAMPLE_RATE), np.float32)
        if not piece.symbols:
            if silence.size:
                yield silence
            continue
        yield np.concatenate([_voiced(model, job, piece, speed), silence])


def _voiced(model: Model, job: Job, piece: Piece, speed: float) -> Chunk:
    """One piece, trimmed, at its pitch and volume."""
    # The model has no pitch: it speaks slower or faster, and resampling undoes that.
    ratio = 2.0 ** ((job.pitch + piece.pitch) / 12)
    asked = min(max(speed / ratio, MIN_MODEL_SPEED), MAX_MODEL_SPEED)
    audio = model.speak(piece.symbols, job.voice, speed=asked).audio
    audio = _trimmed(_resampled(audio, ratio))
    gain = 10.0 ** ((job.volume + piece.volume) / 20)
    return np.clip(audio * np.float32(gain), -1.0, 1.0)


def _trimmed(audio: Chunk) -> Chunk:
    """Without the model's silence but for a short edge."""
    sounding = np.flatnonzero(np.abs(audio) > SILENCE_LEVEL)
    if sounding.size == 0:
        return audio
    edge = EDGE_MS * SAMPLE_RATE // 1000
    return audio[max(int(sounding[0]) - edge, 0) : int(sounding[-1]) + edge]


def _resampled(audio: Chunk, ratio: float) -> Chunk:
    """Played ``ratio`` times as fast, band-limited through the spectrum."""
    length = round(audio.size / ratio)
    if length == audio.size or length < 2:
        return audio
    spectrum = np.fft.rfft(audio)[: length // 2 + 1]
    played = np.fft.irfft(spectrum, length) * (length / audio.size)
    return played.astype(np.float32)
