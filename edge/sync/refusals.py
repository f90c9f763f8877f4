"""What is refused, in the log: said once in a while and counted between.

Anybody on the line may send nonsense as fast as the broker lets it, and a log that
fills a disk would stop more than the nonsense does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

ONCE_IN_S = 60.0
"""Seconds in which one kind of message, refused for one reason, is one line."""

log = logging.getLogger(__name__)


@dataclass
class _Told:
    """A line that was written.

    Attributes:
        at: When, monotonic seconds.
        left_out: Lines like it that were not written since.
    """

    at: float
    left_out: int = 0


class Refusals:
    """Lines about refused messages."""

    def __init__(
        self,
        once_in_s: float = ONCE_IN_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with nothing said.

        Args:
            once_in_s: Seconds in which a kind and reason is one line.
            monotonic: Seconds that never jump.
        """
        self._once_in_s = once_in_s
        self._monotonic = monotonic
        # Kinds and reasons are our own words, so there are few, whatever is sent.
        self._told: dict[tuple[str, str], _Told] = {}

    def say(
        self,
        kind: str,
        reason: str,
        line: str,
        *,
        level: int = logging.WARNING,
        error: BaseException | None = None,
    ) -> None:
        """Write a line, unless one like it was just written.

        Args:
            kind: Which kind of message; one of few.
            reason: Why it is refused, for programs; one of few.
            line: All of it for people.
            level: Of the line.
            error: What is shown with its traceback.
        """
        now = self._monotonic()
        told = self._told.get((kind, reason))
        if told is not None and now - told.at < self._once_in_s:
            told.left_out += 1
            return
        more = f" ({told.left_out} more left out)" if told and told.left_out else ""
        log.log(level, "%s%s", line, more, exc_info=error)
        self._told[kind, reason] = _Told(now)

    def settle(self) -> None:
        """Tell what was left out and is old by now; called once in a while."""
        now = self._monotonic()
        old = [n for n, t in self._told.items() if now - t.at >= self._once_in_s]
        for kind, reason in old:
            told = self._told.pop((kind, reason))
            if told.left_out:
                log.warning(
                    "%s refused (%s): %d more left out", kind, reason, told.left_out
                )
