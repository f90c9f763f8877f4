"""Why the line is down, and since when that is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Connected(Protocol):
    """What can be seen of a connection."""

    @property
    def is_up(self) -> bool:
        """Whether messages go through now."""

    @property
    def last_error(self) -> str:
        """Why the newest connection ended or failed, however long ago."""


class Outage:
    """The error that keeps the line down now; over as soon as it is up.

    Attributes:
        error: It; empty while the line is up.
        since_s: When it was first seen, seconds since 1970; None while the line is up.
    """

    def __init__(self, link: Connected, now: Callable[[], float]) -> None:
        """Remember the parts.

        Args:
            link: The line's connection.
            now: Seconds since 1970.
        """
        self.error = ""
        self.since_s: int | None = None
        self._link = link
        self._now = now

    def look(self) -> Outage:
        """Look at the connection; how often this is done is how exact the time is.

        Returns:
            Itself.
        """
        error = "" if self._link.is_up else self._link.last_error
        if error != self.error:
            self.since_s = int(self._now()) if error else None
            self.error = error
        return self
