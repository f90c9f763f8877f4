"""Text that comes in pieces, given on as soon as a sentence is whole.

Rules: nothing is lost or said twice, whatever the cuts; a stop inside a number or an
abbreviation ends no sentence; a sentence that never ends is cut at its last pause.
"""

from __future__ import annotations

import re

LONGEST = 400
"""Characters that wait for a stop before they are cut at a pause."""

_STOP = re.compile(r"[。！？!?…]+[”’」』）)\"']*|[.][”’)\"']*(?=\s)|\n")
_PAUSE = re.compile(r"[，；：、,;]|\s")
_SETTLED = re.compile(r"[^。！？!?…”’」』）)\"']")
"""What shows that nothing more belongs to the stop before it."""


class Sentences:
    """Collects text and gives sentences."""

    def __init__(self) -> None:
        """Start without text."""
        self._waiting = ""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, text: str) -> list[str]:
        """Take more text.

        Args:
            text: What follows the text so far.

        Returns:
            Sentences that are whole now.
        """
        self._waiting += text
        whole: list[str] = []
        while (end := self._end()) > 0:
            whole.append(self._waiting[:end])
            self._waiting = self._waiting[end:]
        return [one for one in whole if one.strip()]

    def flush(self) -> list[str]:
        """Give what is left as if a sentence ended here.

        Returns:
            At most one sentence.
        """
        left, self._waiting = self._waiting, ""
        return [left] if left.strip() else []

    def _end(self) -> int:
        """Where the first sentence ends; 0 while it is not whole."""
        for stop in _STOP.finditer(self._waiting, 0, LONGEST):
            # The next piece might bring the quotation mark that closes it.
            if stop[0] == "\n" or _SETTLED.match(self._waiting, stop.end()):
                return stop.end()
        if len(self._waiting) <= LONGEST:
            return 0
        pauses = list(_PAUSE.finditer(self._waiting, 0, LONGEST))
        return pauses[-1].end() if pauses else LONGEST
