"""Readings that the box remembers: a text is read once, not every time it plays.

Rules: at most ``capacity`` texts, the least recently used leaves first; long texts are
never remembered, so memory stays small; other words in the lexicon or other rules make
every remembered reading another one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass, field

from common.phrase import phrase_key
from common.protocol.synthesis import SpeechRequest
from common.text import RULES_VERSION, Lexicon, read
from common.text.receipt import Reading

MAX_REMEMBERED_CHARACTERS = 400
"""Longer texts are read every time."""
MAX_INLINE_CHARACTERS = 200
"""Longer texts are read on a thread of their own, so that nobody else waits."""
MAX_KEYS = 16
"""Voices and styles of one text whose keys are remembered."""

Style = tuple[str, float, float, float]


@dataclass
class Read:
    """A text as read, with the keys of its phrases.

    Attributes:
        reading: What will be said.
        symbols_sha256: Digest of its symbols.
        lexicon_sha256: Digest of the store lexicon it was read with; empty without.
    """

    reading: Reading
    symbols_sha256: str
    lexicon_sha256: str
    _keys: dict[Style, str] = field(default_factory=dict)

    def key(self, request: SpeechRequest) -> str:
        """The phrase key of this text in the voice and style of a request.

        Args:
            request: Names voice, speed, pitch and volume.

        Returns:
            32 hexadecimal digits.
        """
        style = (request.voice, request.speed, request.pitch, request.volume)
        if style not in self._keys:
            if len(self._keys) >= MAX_KEYS:
                self._keys.clear()
            voice, speed, pitch, volume = style
            self._keys[style] = phrase_key(
                self.reading.symbols,
                voice=voice,
                dialect=self.reading.dialect,
                speed=speed,
                pitch=pitch,
                volume=volume,
            )
        return self._keys[style]


class Readings:
    """Texts and how they are read."""

    def __init__(self, capacity: int) -> None:
        """Start empty.

        Args:
            capacity: Texts remembered at most.
        """
        self._capacity = capacity
        self._lexicon: Lexicon | None = None
        self._lexicon_sha256 = ""
        self._known: OrderedDict[tuple[str, str, str, int], Read] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def lexicon_sha256(self) -> str:
        """Digest of the store lexicon in use; empty without one."""
        return self._lexicon_sha256

    def use_lexicon(self, lexicon: Lexicon | None, sha256: str) -> None:
        """Read with a store's own words from now on.

        Args:
            lexicon: The words; None for none.
            sha256: Digest of the file they came from.
        """
        self._lexicon, self._lexicon_sha256 = lexicon, sha256

    async def read(self, text: str, dialect: str) -> Read:
        """Read a text, or remember how it was read.

        Args:
            text: Any string.
            dialect: ``zh``, ``gd`` or ``sc``.

        Returns:
            The reading.

        Raises:
            YaoheError: As :func:`common.text.read`.
        """
        known = (text, dialect, self._lexicon_sha256, RULES_VERSION)
        found = self._known.get(known)
        if found is not None:
            self._known.move_to_end(known)
            return found
        if len(text) > MAX_INLINE_CHARACTERS:
            found = await asyncio.to_thread(self._read, text, dialect)
        else:
            found = self._read(text, dialect)
        if len(text) <= MAX_REMEMBERED_CHARACTERS:
            self._known[known] = found
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        return found

    def _read(self, text: str, dialect: str) -> Read:
        reading = read(text, dialect, lexicon=self._lexicon)
        symbols = json.dumps(reading.symbols, separators=(",", ":")).encode()
        digest = hashlib.sha256(symbols).hexdigest()
        return Read(reading, digest, self._lexicon_sha256)
