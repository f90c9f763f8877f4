"""What a person wants to know about the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Why = Literal["", "coming", "disk", "cache", "closed", "refused"]
"""Why phrases are lacking: they are on their way; the disk is nearly full; the cache is
full; the cache cannot be used; they came and cannot be kept."""


class Lack(NamedTuple):
    """Phrases that the catalogue has and this box has not.

    Attributes:
        phrases: How many.
        why: Why; empty when there is none.
    """

    phrases: int = 0
    why: Why = ""


@dataclass(frozen=True)
class LineState:
    """The line at one moment.

    Attributes:
        box: The box's name.
        chain: Its chain.
        is_up: Whether it is connected.
        last_error: Why it is not; empty while it is.
        catalogue: Newest change by scope.
        is_current: Whether all that was announced is at hand.
        waiting: Events that wait for the cloud.
        refusal: Why the newest metadata is not trusted; None when it is.
        is_clock_suspect: Whether the clock is clearly wrong.
        dropped: Events that were given up because too many waited.
        is_rebuilt: Whether the line's memory was damaged and begun anew at this start.
        last_error_at: When that error was first seen, seconds since 1970; None while
            the line is up, or before anybody looked.
        lacking: Phrases that were announced and are not at hand.
        lacking_why: Why.
    """

    box: str
    chain: str
    is_up: bool
    last_error: str
    catalogue: dict[str, int]
    is_current: bool
    waiting: int
    refusal: str | None
    is_clock_suspect: bool
    dropped: int = 0
    is_rebuilt: bool = False
    last_error_at: int | None = None
    lacking: int = 0
    lacking_why: Why = ""
