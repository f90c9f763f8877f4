"""Speaks long texts in the background and keeps their files for a while.

Rules: a few run at a time, behind every caller who waits for sound; one more than may
wait is refused at once; what fails for a reason that passes is tried again; sound goes
to the disk as it is made; files leave after their time, or earlier, the oldest first,
when they are too many bytes. Jobs are not kept over a restart: their files go.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, Protocol, cast

from cloud.jobs.record import JobRecord
from cloud.metrics import Metrics
from cloud.settings import JobSettings
from common.admission import Priority
from common.audio.containers import media_type
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.wav import settle
from common.errors import YaoheError
from common.files import make_directory
from common.protocol.synthesis import MAX_DEADLINE_MS, LongSpeechRequest, SpeechRequest
from common.responses import speech_answer
from common.speech import Speech, new_utterance

TRIES = 3
"""How often a job is begun at most."""
PAUSE_S = 5.0
"""Seconds before another try, where the failure does not say."""
PASSING = ("queue_full", "not_ready", "voice_unavailable", "deadline_exceeded")
"""Codes of failures that may pass."""
RETRY_AFTER_S = 30
"""When to ask again where no more jobs may wait."""

_log = logging.getLogger(__name__)


class Speak(Protocol):
    """What speaks; the cloud's dispatch."""

    def __call__(
        self, request: SpeechRequest, utterance: str, *, priority: Priority
    ) -> Awaitable[Speech]:
        """Speak a request."""


class JobRunner:
    """All jobs of a service."""

    def __init__(
        self, directory: Path, settings: JobSettings, speak: Speak, metrics: Metrics
    ) -> None:
        """Start without any; needs no running loop.

        Args:
            directory: Where files go.
            settings: Limits.
            speak: What speaks.
            metrics: Where to count.
        """
        self._directory = directory
        self._settings = settings
        self._speak = speak
        self._jobs: dict[str, JobRecord] = {}
        self._turns = asyncio.Semaphore(settings.running)
        metrics.jobs.set_function(lambda: self.live)

    @property
    def live(self) -> int:
        """Jobs that run or wait."""
        return sum(not job.is_over for job in self._jobs.values())

    def submit(self, request: LongSpeechRequest) -> JobRecord:
        """Take a text on.

        Args:
            request: A checked request.

        Returns:
            Its job, which waits for its turn.

        Raises:
            YaoheError: ``queue_full``; ``unsupported_format``.
        """
        media_type(request.response_format)
        self._tidy()
        if self.live >= self._settings.capacity:
            raise YaoheError(
                "queue_full",
                f"{self.live} jobs are waiting already",
                retry_after_s=RETRY_AFTER_S,
            )
        job = JobRecord(new_utterance(), request, time.time())
        self._jobs[job.number] = job
        job.task = asyncio.create_task(self._work(job))
        return job

    def find(self, number: str) -> JobRecord:
        """The job of an id.

        Args:
            number: Its id.

        Returns:
            The job.

        Raises:
            YaoheError: ``not_found``: it never was, or its time is over.
        """
        self._tidy()
        job = self._jobs.get(number)
        if job is None:
            raise YaoheError(
                "not_found",
                f"no job has this id; they are kept {self._settings.keep_s:g} s",
                param="id",
            )
        return job

    async def remove(self, number: str) -> None:
        """Stop a job and delete its file.

        Args:
            number: Its id.

        Raises:
            YaoheError: ``not_found``.
        """
        job = self.find(number)
        await self._stop(job)
        self._forget(job)

    async def close(self) -> None:
        """Stop everything and delete every file."""
        for job in list(self._jobs.values()):
            await self._stop(job)
            self._forget(job)

    async def _stop(self, job: JobRecord) -> None:
        if job.task is not None:
            job.task.cancel()
            await asyncio.gather(job.task, return_exceptions=True)

    async def _work(self, job: JobRecord) -> None:
        """Speak a job to its end, whatever that is."""
        try:
            async with self._turns:
                job.state = "running"
                await self._tried(job)
            job.state = "done"
        except asyncio.CancelledError:
            job.state = "cancelled"
            raise
        except YaoheError as error:
            job.state, job.error = "failed", error
        except Exception:  # noqa: BLE001 - a lost task tells nobody
            _log.exception("a job failed", extra={"utterance": job.number})
            wrong = YaoheError("internal_error", "something went wrong; it was logged")
            job.state, job.error = "failed", wrong
        finally:
            job.expires = time.time() + self._settings.keep_s
            self._tidy()

    async def _tried(self, job: JobRecord) -> None:
        """Speak a job; what fails for a passing reason is begun again."""
        for left in reversed(range(TRIES)):
            try:
                return await self._spoken(job)
            except YaoheError as error:
                if error.code not in PASSING or left == 0:
                    raise
                _log.warning("a job is tried again", extra={"utterance": job.number})
                await asyncio.sleep(error.retry_after_s or PAUSE_S)

    async def _spoken(self, job: JobRecord) -> None:
        """Speak a job into its file."""
        patient = job.request.deadline_ms or MAX_DEADLINE_MS
        plain = {"deadline_ms": patient, "stream_format": "audio", "receipt": False}
        asked = job.request.model_copy(update=plain)
        job.samples = 0
        speech = await self._speak(asked, job.number, priority=Priority.BATCH)
        job.syllables = len(speech.receipt.reading.syllables)
        if speech.whole is not None:
            job.samples = round(speech.whole.duration_s * SAMPLE_RATE)
        elif speech.chunks is not None:
            speech.chunks = self._counted(job, speech.chunks)
        answer = await speech_answer(asked, speech)
        path = self._directory / job.number
        try:
            job.size = await self._written(path, answer.body)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            await answer.aclose()
        if asked.response_format == "wav" and speech.whole is None:
            await asyncio.to_thread(settle, path)
        job.path = path

    async def _counted(
        self, job: JobRecord, chunks: AsyncIterator[Pcm]
    ) -> AsyncIterator[Pcm]:
        """A job's sound, counted; one without end is stopped."""
        try:
            async for chunk in chunks:
                job.samples += chunk.size
                if job.samples > self._settings.longest_s * SAMPLE_RATE:
                    raise YaoheError(
                        "input_too_long",
                        f"the sound is longer than {self._settings.longest_s:g} s",
                        param="input",
                    )
                yield chunk
        finally:
            await cast(Any, chunks).aclose()

    async def _written(self, path: Path, body: bytes | AsyncIterator[bytes]) -> int:
        """Write an answer's body to a file; its size."""
        if not self._directory.is_dir():
            await asyncio.to_thread(make_directory, self._directory)
        size = 0
        with await asyncio.to_thread(path.open, "wb") as file:
            if isinstance(body, bytes):
                return await asyncio.to_thread(file.write, body)
            async for piece in body:
                size += await asyncio.to_thread(file.write, piece)
        return size

    def _tidy(self) -> None:
        """Forget what is too old, and the oldest while files take too many bytes."""
        now = time.time()
        over = sorted(
            (job for job in self._jobs.values() if job.expires is not None),
            key=lambda job: job.expires or 0.0,
        )
        held = sum(job.size for job in over)
        for job in over:
            if (job.expires or 0.0) > now and held <= self._settings.max_bytes:
                break
            held -= job.size
            self._forget(job)

    def _forget(self, job: JobRecord) -> None:
        self._jobs.pop(job.number, None)
        if job.path is not None:
            job.path.unlink(missing_ok=True)


def own_folder(root: Path) -> Path:
    """A folder for this process's files; what ended services left is deleted.

    Args:
        root: Holds a folder for each service, named by its process.

    Returns:
        The folder; it need not exist yet.
    """
    own = str(os.getpid())
    for folder in root.iterdir() if root.is_dir() else ():
        if folder.name == own or not _is_alive(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    return root / own


def _is_alive(name: str) -> bool:
    """Whether a name is that of a running process."""
    return name.isdecimal() and Path("/proc", name).exists()
