"""Where voices speak: a few threads, many utterances, each listener served in turn.

Rules:

* A *take* is one phrase being spoken. Whoever asks for the same phrase meanwhile
  listens to the same take, from its first sample.
* Threads advance takes by one chunk at a time, new ones first, so a short phrase never
  waits for a long one to end.
* A take that is far ahead of its listeners rests; one that nobody listens to any more
  is stopped.
* Only a take that came to its end, and is short enough to keep, is handed on.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from common.audio.pcm import SAMPLE_RATE, Pcm
from common.errors import YaoheError

MIN_RETRY_S, MAX_RETRY_S = 1, 30

log = logging.getLogger(__name__)

Make = Callable[[], Iterator[Pcm]]
Done = Callable[[Pcm, float], None]
"""Receives all samples, shape (n,), and the seconds it took to make them."""


@dataclass(eq=False)
class Take:
    """One phrase being spoken; everything but ``wake`` is guarded by the stage's lock.

    Attributes:
        key: What is spoken.
        make: Begins to speak; called on a stage thread.
        done: Called on a stage thread with a complete take.
        chunks: What is spoken so far and still wanted.
        dropped: How many chunks were let go at the front.
        dropped_samples: How many samples they held.
        samples: Samples made so far.
        busy_s: Seconds of work so far.
        has_ended: No more chunks will come.
        error: Why it ended early, if it did.
        is_running: A thread is making the next chunk.
        is_waiting: It stands in the line for a thread.
        listeners: Who hears it.
    """

    key: str
    make: Make
    done: Done | None
    chunks: list[Pcm] = field(default_factory=list)
    dropped: int = 0
    dropped_samples: int = 0
    samples: int = 0
    busy_s: float = 0.0
    has_ended: bool = False
    error: BaseException | None = None
    is_running: bool = False
    is_waiting: bool = False
    listeners: list[Listener] = field(default_factory=list)
    source: Iterator[Pcm] | None = None


class Listener(AsyncIterator[Pcm]):
    """One who hears a take from its first sample; closing it may stop the take."""

    def __init__(self, stage: Stage, take: Take) -> None:
        """Made by :meth:`Stage.join` only."""
        self._stage = stage
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self.position = 0
        self.heard_samples = 0

    async def __anext__(self) -> Pcm:
        """The next chunk, as soon as it is made."""
        while True:
            self._news.clear()
            chunk, has_ended = self._stage.next_chunk(self._take, self)
            if chunk is not None:
                return chunk
            if has_ended:
                if self._take.error is not None:
                    raise self._take.error
                raise StopAsyncIteration
            await self._news.wait()

    async def aclose(self) -> None:
        """Stop listening; the last one to leave stops the take."""
        self._stage.leave(self._take, self)

    def wake(self) -> None:
        """Tell the listener, from any thread, that there is news."""
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:
            # The loop is closed: whoever listened is gone with it.
            self._stage.leave(self._take, self)


class Stage:
    """Threads that speak."""

    def __init__(
        self, *, workers: int, queue: int, ahead_s: float, keep_s: float
    ) -> None:
        """Start the threads.

        Args:
            workers: How many.
            queue: Takes at the same time; one more is refused.
            ahead_s: A take rests when it is so far ahead of its listeners.
            keep_s: Longer takes are not handed on when done.
        """
        self._queue = queue
        self._ahead = round(ahead_s * SAMPLE_RATE)
        self._keep = round(keep_s * SAMPLE_RATE)
        self._changed = threading.Condition()
        self._line: deque[Take] = deque()
        self._joinable: dict[str, Take] = {}
        self._active: set[Take] = set()
        self._mean_s = 0.2
        self._is_closed = False
        self.made_samples = 0
        self.busy_s = 0.0
        self._threads = [
            threading.Thread(target=self._work, name=f"voice-{n}", daemon=True)
            for n in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def active(self) -> int:
        """Takes that are being spoken or wait for a thread."""
        return len(self._active)

    @property
    def made_s(self) -> float:
        """Seconds of sound made since the start."""
        return self.made_samples / SAMPLE_RATE

    def join(self, key: str, make: Make, done: Done | None = None) -> Listener:
        """Listen to a phrase, and start it unless somebody already has.

        Args:
            key: What is spoken, by which voice of which pack; equal keys are equal
                samples.
            make: Begins to speak; called on a stage thread, unless one already speaks.
            done: Called on a stage thread with the complete take.

        Returns:
            Its chunks, from the first sample.

        Raises:
            YaoheError: ``queue_full``.
        """
        with self._changed:
            take = self._joinable.get(key)
            if take is None:
                if len(self._active) >= self._queue or self._is_closed:
                    raise YaoheError(
                        "queue_full",
                        f"{len(self._active)} utterances are being spoken already",
                        retry_after_s=self._retry_after_s(),
                    )
                take = Take(key, make, done)
                self._joinable[key] = take
                self._active.add(take)
                self._stand_in_line(take, is_new=True)
            listener = Listener(self, take)
            take.listeners.append(listener)
        return listener

    def close(self) -> None:
        """Stop everything and wait for the threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for take in list(self._active):
            self._end(take, YaoheError("voice_unavailable", "the box is stopping"))

    def next_chunk(self, take: Take, listener: Listener) -> tuple[Pcm | None, bool]:
        """The listener's next chunk if there is one, and whether the take has ended."""
        with self._changed:
            index = listener.position - take.dropped
            if index >= len(take.chunks):
                return None, take.has_ended
            chunk = take.chunks[index]
            listener.position += 1
            listener.heard_samples += chunk.size
            self._let_go(take)
            self._stand_in_line(take)
            return chunk, False

    def leave(self, take: Take, listener: Listener) -> None:
        """Take a listener out; safe to call twice."""
        with self._changed:
            if listener in take.listeners:
                take.listeners.remove(listener)
            if not take.listeners and not take.has_ended:
                self._forget(take)
            # Another listener may be the next to wait for, and a take without any
            # needs a thread to close its source.
            self._stand_in_line(take)

    def _stand_in_line(self, take: Take, is_new: bool = False) -> None:
        if take.is_running or take.is_waiting or take.has_ended:
            return
        if take.listeners and take.samples - self._heard(take) >= self._ahead:
            return
        take.is_waiting = True
        if is_new:
            self._line.appendleft(take)
        else:
            self._line.append(take)
        self._changed.notify()

    def _heard(self, take: Take) -> int:
        """The samples that a take may count as heard.

        A phrase follows its fastest listener, so that a stalled one holds up nobody; a
        take that is too long to keep follows its slowest, so that memory stays small.
        """
        heard = [one.heard_samples for one in take.listeners]
        return max(heard) if take.samples <= self._keep else min(heard)

    def _let_go(self, take: Take) -> None:
        """Drop what everybody has heard of a take that is too long to keep."""
        if take.samples <= self._keep:
            return
        self._forget(take)
        heard = min(one.position for one in take.listeners) - take.dropped
        take.dropped_samples += sum(chunk.size for chunk in take.chunks[:heard])
        del take.chunks[:heard]
        take.dropped += heard

    def _forget(self, take: Take) -> None:
        """Let nobody join any more."""
        if self._joinable.get(take.key) is take:
            del self._joinable[take.key]

    def _retry_after_s(self) -> int:
        wait = self._mean_s * len(self._active) / len(self._threads)
        return min(max(math.ceil(wait), MIN_RETRY_S), MAX_RETRY_S)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._line and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                take = self._line.popleft()
                take.is_waiting, take.is_running = False, True
                is_wanted = bool(take.listeners)
            if is_wanted:
                self._advance(take)
            else:
                self._end(take, None)

    def _advance(self, take: Take) -> None:
        began = time.perf_counter()
        chunk: Pcm | None = None
        error: BaseException | None = None
        try:
            if take.source is None:
                take.source = take.make()
            chunk = next(take.source, None)
        except Exception as failure:  # noqa: BLE001 - goes to whoever listens
            error = failure
        spent = time.perf_counter() - began
        with self._changed:
            take.busy_s += spent
            self.busy_s += spent
        if chunk is None or error is not None:
            self._end(take, error)
            return
        with self._changed:
            take.chunks.append(chunk)
            take.samples += chunk.size
            self.made_samples += chunk.size
            take.is_running = False
            self._stand_in_line(take)
            listeners = list(take.listeners)
        for listener in listeners:
            listener.wake()

    def _end(self, take: Take, error: BaseException | None) -> None:
        with self._changed:
            is_complete = bool(take.listeners) and error is None
            kept = list(take.chunks) if take.dropped == 0 else []
            take.has_ended, take.is_running, take.error = True, False, error
            self._active.discard(take)
            self._mean_s += 0.2 * (take.busy_s - self._mean_s)
            listeners = list(take.listeners)
        for listener in listeners:
            listener.wake()
        close = getattr(take.source, "close", None)
        if close is not None:
            close()
        if is_complete and kept and take.samples <= self._keep and take.done:
            try:
                take.done(np.concatenate(kept), take.busy_s)
            except Exception:
                log.exception("a finished utterance could not be kept")
        with self._changed:
            self._forget(take)
