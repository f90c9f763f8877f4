"""The renditions that play all the time, ready in memory.

Rules: at most ``max_bytes``, the least recently played leaves first; entries are found
by the digest of their master, so a new recording of the same phrase is another entry.
Samples are kept as 16 bits, which is what every lossless answer is made of. Files in
other formats stay with the entry that they were made of, as far as its share goes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from common.audio.opus import OpusMaster, decode
from common.audio.pcm import from_s16, to_s16
from common.speech import Whole

OVERHEAD_BYTES = 100
"""What one packet costs beside its bytes."""
MAX_SHARE = 4
"""One rendition may take this fraction of the budget at most."""


@dataclass
class Entry:
    """One rendition.

    Attributes:
        master: The master, parsed.
        samples: The same decoded, 16 bits a sample; None until somebody needed it.
        files: What it was encoded to, by name.
    """

    master: OpusMaster
    samples: bytes | None = None
    files: dict[Hashable, bytes] = field(default_factory=dict)
    _master_size: int = field(init=False)

    def __post_init__(self) -> None:
        """Weigh the master once: its packets and the file they came from."""
        packets = self.master.packets
        coded = sum(map(len, packets))
        self._master_size = 2 * coded + OVERHEAD_BYTES * len(packets)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        files = sum(map(len, self.files.values()))
        return self._master_size + len(self.samples or b"") + files


class Hot:
    """Renditions in memory by digest."""

    def __init__(self, max_bytes: int) -> None:
        """Start empty.

        Args:
            max_bytes: Memory for all of them; 0 keeps nothing.
        """
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self.held_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def whole(self, sha256: str, master: bytes, *, needs_pcm: bool) -> Whole:
        """A rendition ready to be answered.

        Args:
            sha256: Digest of its master.
            master: Bytes of its master.
            needs_pcm: Whether the answer is made of samples.

        Returns:
            The master and, where needed, its samples.

        Raises:
            YaoheError: The bytes are no master.
        """
        entry = self._take(sha256) or Entry(OpusMaster.from_bytes(master))
        if needs_pcm and entry.samples is None:
            entry.samples = to_s16(await asyncio.to_thread(decode, entry.master))
        self._put(sha256, entry)
        pcm = from_s16(entry.samples) if needs_pcm and entry.samples else None
        files = _Files(self, sha256)
        return Whole(entry.master.duration_s, pcm=pcm, opus=entry.master, files=files)

    def find(self, sha256: str, name: Hashable) -> bytes | None:
        """A file that a rendition was encoded to before.

        Args:
            sha256: Digest of its master.
            name: What :meth:`keep` was told.

        Returns:
            The file; None when it was not kept or has left.
        """
        entry = self._entries.get(sha256)
        return None if entry is None else entry.files.get(name)

    def keep(self, sha256: str, name: Hashable, file: bytes) -> None:
        """Keep what a rendition was encoded to, if its share has room.

        Args:
            sha256: Digest of its master.
            name: Format, and whatever else the file depends on.
            file: The file.
        """
        entry = self._take(sha256)
        if entry is None:
            return
        if (entry.size + len(file)) * MAX_SHARE <= self._max_bytes:
            entry.files[name] = file
        self._put(sha256, entry)

    def _take(self, sha256: str) -> Entry | None:
        entry = self._entries.pop(sha256, None)
        if entry is not None:
            self.held_bytes -= entry.size
        return entry

    def _put(self, sha256: str, entry: Entry) -> None:
        self._take(sha256)
        if entry.size * MAX_SHARE > self._max_bytes:
            return
        self._entries[sha256] = entry
        self.held_bytes += entry.size
        while self.held_bytes > self._max_bytes:
            _, dropped = self._entries.popitem(last=False)
            self.held_bytes -= dropped.size


@dataclass(frozen=True)
class _Files:
    """The files of one rendition in memory."""

    hot: Hot
    sha256: str

    def find(self, name: Hashable) -> bytes | None:
        return self.hot.find(self.sha256, name)

    def keep(self, name: Hashable, file: bytes) -> None:
        self.hot.keep(self.sha256, name, file)
