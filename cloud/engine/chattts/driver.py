"""The thread that steps: requests in, steps, sound out; nothing else computes.

Whoever calls posts a message; the thread reads its messages between two steps and so
needs no lock. It never waits for a listener.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from cloud.engine.chattts.early import speak
from cloud.engine.chattts.request import Ticket
from cloud.engine.chattts.scheduler import Scheduler
from cloud.engine.chattts.stream import Vocoder
from cloud.engine.chattts.utterance import Utterance
from common.errors import YaoheError

Message = Callable[[], None]

_log = logging.getLogger(__name__)


class Driver:
    """Steps a scheduler and a vocoder for the utterances that were begun."""

    def __init__(self, scheduler: Scheduler, vocoder: Vocoder) -> None:
        """Take both; nobody else may call them from now on.

        Args:
            scheduler: An empty scheduler.
            vocoder: What turns its hidden states to sound.
        """
        self._scheduler = scheduler
        self._vocoder = vocoder
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._active: dict[Utterance, Ticket | None] = {}
        self._is_stopping = False
        self._is_over = False
        self._began: float | None = None

    def begin(self, utterance: Utterance) -> None:
        """Have an utterance spoken, from any thread."""
        self._inbox.put(partial(self._submit_next, utterance))
        # After its last message the thread reads none.
        if self._is_over:
            utterance.outlet.end(_gone())

    def leave(self, utterance: Utterance) -> None:
        """Let an utterance go, from any thread; its next step does not happen."""
        self._inbox.put(partial(self._drop, utterance))

    def go_on(self, utterance: Utterance) -> None:
        """Say that a listener has room again, from any thread."""
        self._inbox.put(partial(self._resume, utterance))

    def stop(self) -> None:
        """End :meth:`run` after the running step, from any thread."""
        self._inbox.put(self._stop)

    @property
    def stuck_s(self) -> float:
        """Seconds that the running step has taken, from any thread."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    @property
    def scheduler(self) -> Scheduler:
        """For counting; reading its numbers is safe from any thread."""
        return self._scheduler

    def fail(self, error: YaoheError) -> None:
        """End every utterance, from any thread; they leave after the running step.

        Args:
            error: What their listeners are told.
        """
        for utterance in list(self._active):
            utterance.outlet.end(error)
            self.leave(utterance)

    def run(self) -> None:
        """Work until :meth:`stop`; this is the thread."""
        while not self._is_stopping:
            if self._inbox.empty() and self._scheduler.is_busy:
                self._guarded_step()
            else:
                self._inbox.get()()
        self._is_over = True
        while not self._inbox.empty():
            self._inbox.get()()
        for utterance in list(self._active):
            utterance.outlet.end(_gone())

    def _stop(self) -> None:
        """Have :meth:`run` end."""
        self._is_stopping = True

    def _guarded_step(self) -> None:
        """One step; one that fails ends its utterances and nothing else."""
        self._began = time.monotonic()
        try:
            self._step()
        except Exception:  # noqa: BLE001 - whatever it was, the thread must go on
            _log.exception("a step failed")
            for utterance in list(self._active):
                utterance.outlet.end(_wrong())
                self._drop(utterance)
        finally:
            self._began = None

    def _step(self) -> None:
        """Step the model, then speak what is due, for all streams together."""
        of = {ticket: each for each, ticket in self._active.items() if ticket}
        ended: list[Utterance] = []
        for made in self._scheduler.step():
            utterance = of[made.ticket]
            utterance.take(made)
            if made.is_last:
                self._active[utterance] = None
                ended.append(utterance)
        due = [utterance for utterance in self._active if utterance.is_due]
        sounds = speak(self._vocoder, [utterance.stream for utterance in due])
        for utterance, sound in zip(due, sounds, strict=True):
            utterance.give(sound)
            ticket = self._active[utterance]
            if ticket is not None and utterance.outlet.is_full:
                self._scheduler.hold(ticket)
        for utterance in ended:
            self._submit_next(utterance)

    def _submit_next(self, utterance: Utterance) -> None:
        """Begin an utterance's next request, or end it."""
        if self._is_stopping:
            utterance.outlet.end(_gone())
        ticket = None if utterance.outlet.is_ended else self._submitted(utterance)
        if ticket is None:
            self._drop(utterance)
            return
        self._active[utterance] = ticket
        if utterance.outlet.is_full:
            self._scheduler.hold(ticket)

    def _submitted(self, utterance: Utterance) -> Ticket | None:
        """Ask the scheduler for what an utterance needs next, if it needs more."""
        try:
            request = utterance.next_request()
            return None if request is None else self._scheduler.submit(request)
        except YaoheError as error:
            utterance.outlet.end(error)
        except Exception:  # noqa: BLE001 - one utterance's fault ends no other
            _log.exception("an utterance failed")
            utterance.outlet.end(_wrong())
        return None

    def _drop(self, utterance: Utterance) -> None:
        """Let an utterance go; its end is told once."""
        utterance.outlet.end()
        ticket = self._active.pop(utterance, None)
        if ticket is not None:
            self._scheduler.abort(ticket)

    def _resume(self, utterance: Utterance) -> None:
        """Let an utterance step again."""
        ticket = self._active.get(utterance)
        if ticket is not None:
            self._scheduler.resume(ticket)


def _gone() -> YaoheError:
    """What listeners are told who came too late."""
    return YaoheError("not_ready", "the engine was stopped")


def _wrong() -> YaoheError:
    """What listeners are told when something broke."""
    return YaoheError("internal_error", "the engine failed; it was logged")
