"""Receipts kept for a while, so that a shop can ask why it heard what it heard.

Rules: a receipt is findable for ``keep_s`` seconds, at most ``capacity`` of them and
``MAX_CHARACTERS`` characters are kept (the oldest leave first), and every method may be
called from any thread.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from common.errors import YaoheError
from common.text.receipt import Receipt

KEEP_S = 600.0
"""How long a receipt can be asked for, seconds."""

CAPACITY = 10_000
"""Receipts kept at most; some kilobytes each."""

MAX_CHARACTERS = 500_000
"""Characters of all their texts; each takes about a kilobyte."""


class ReceiptBook:
    """The receipts of the last minutes by utterance."""

    def __init__(
        self,
        keep_s: float = KEEP_S,
        capacity: int = CAPACITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open an empty book.

        Args:
            keep_s: Seconds that a receipt is kept.
            capacity: Receipts kept at most.
            clock: Seconds that never run backwards.
        """
        self._keep_s = keep_s
        self._capacity = capacity
        self._clock = clock
        self._lock = threading.Lock()
        self._characters = 0
        self._entries: OrderedDict[str, tuple[float, Receipt]] = OrderedDict()

    def __len__(self) -> int:
        """Receipts held, expired ones included until the next ``keep``."""
        return len(self._entries)

    def keep(self, receipt: Receipt) -> None:
        """Put a receipt in and drop what is too old or too much.

        Args:
            receipt: The receipt of an utterance.
        """
        now = self._clock()
        with self._lock:
            self._forget(self._entries.pop(receipt.utterance, None))
            self._entries[receipt.utterance] = (now, receipt)
            self._characters += len(receipt.reading.text)
            while len(self._entries) > 1:
                _, (kept, _) = next(iter(self._entries.items()))
                is_full = (
                    len(self._entries) > self._capacity
                    or self._characters > MAX_CHARACTERS
                )
                if not is_full and now - kept <= self._keep_s:
                    break
                _, dropped = self._entries.popitem(last=False)
                self._forget(dropped)

    def _forget(self, entry: tuple[float, Receipt] | None) -> None:
        """Take a receipt's characters off the account."""
        if entry is not None:
            self._characters -= len(entry[1].reading.text)

    def find(self, utterance: str) -> Receipt:
        """Look a receipt up.

        Args:
            utterance: The id from ``X-Yaohe-Utterance``.

        Returns:
            Its receipt.

        Raises:
            YaoheError: ``not_found`` where it never was or is too old.
        """
        with self._lock:
            kept, receipt = self._entries.get(utterance, (0.0, None))
        if receipt is None or self._clock() - kept > self._keep_s:
            raise YaoheError(
                "not_found",
                f"No receipt of this utterance; receipts are kept {self._keep_s:g} s.",
                param="utterance",
            )
        return receipt
