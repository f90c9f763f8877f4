"""Finished sounds kept in memory: the most recently wanted, within a byte budget.

Kept as 16-bit samples: that is what every lossless answer is made of, so a cached
answer holds the very samples that the streamed one held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from common.audio.pcm import Pcm, from_s16, to_s16

MAX_BYTES = 256 << 20
"""Memory for finished sounds, bytes: about 93 minutes."""
SAMPLE_BYTES = 2
MAX_SHARE = 8
"""One sound may take this fraction of the budget at most."""


class Renditions:
    """Finished sounds by what they say.

    Attributes:
        max_samples: Longest sound that is kept.
        held_bytes: Memory that the sounds take.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Start empty.

        Args:
            max_bytes: Memory for all of them; 0 keeps nothing.
        """
        self._max_bytes = max_bytes
        self.max_samples = max_bytes // MAX_SHARE // SAMPLE_BYTES
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self.held_bytes = 0

    def find(self, key: Hashable) -> Pcm | None:
        """Look a sound up and remember that it was wanted.

        Args:
            key: What it says, how and by whom.

        Returns:
            Its samples, or None.
        """
        data = self._kept.get(key)
        if data is None:
            return None
        self._kept.move_to_end(key)
        return from_s16(data)

    def keep(self, key: Hashable, pcm: Pcm) -> None:
        """Put a finished sound in; one that is too large is left out.

        Args:
            key: What it says, how and by whom.
            pcm: All of its samples.
        """
        if pcm.size > self.max_samples:
            return
        data = to_s16(pcm)
        self.held_bytes += len(data) - len(self._kept.pop(key, b""))
        self._kept[key] = data
        while self.held_bytes > self._max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self.held_bytes -= len(dropped)
