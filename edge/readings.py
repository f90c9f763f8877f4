"""Readings that the box remembers: a text is read once, not every time it plays.

Rules: at most ``capacity`` texts, the least recently used leaves first; long texts are
never remembered, so memory stays small; another state of the lexicon, another hint or
other rules make it another reading.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass, field

from common.phrase import phrase_key
from common.protocol.synthesis import SpeechRequest
from common.text import RULES_VERSION, Lexicon, LexiconFile, read
from common.text.receipt import Reading

MAX_REMEMBERED_CHARACTERS = 400
"""Longer texts are read every time."""
MAX_INLINE_CHARACTERS = 200
"""Longer texts are read on a thread of their own, so that nobody else waits."""
MAX_KEYS = 16
"""Voices and styles of one text whose keys are remembered."""

Style = tuple[str, float, float, float]
Asked = tuple[str, str, str, str, bool, int]


@dataclass
class Read:
    """A text as read, with the keys of its phrases.

    Attributes:
        reading: What will be said.
        symbols_sha256: Digest of its symbols.
    """

    reading: Reading
    symbols_sha256: str
    _keys: dict[Style, str] = field(default_factory=dict)

    @property
    def lexicon_sha256(self) -> str:
        """Digest of the lexicon, the store's or the packs', that decided some of it."""
        return self.reading.lexicon_sha256

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

    def __init__(self, capacity: int, lexicon: LexiconFile | None = None) -> None:
        """Start empty.

        Args:
            capacity: Texts remembered at most.
            lexicon: The store's own words; looked at before each text.
        """
        self._capacity = capacity
        self._file = lexicon
        self._beneath = Lexicon()
        self._both: tuple[str, Lexicon] = ("", Lexicon())
        self._known: OrderedDict[Asked, Read] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def use(self, beneath: Lexicon) -> None:
        """Take the packs' own words; the store's win over them.

        Args:
            beneath: The words.
        """
        self._beneath, self._both = beneath, ("", Lexicon())

    @property
    def _lexicon(self) -> Lexicon | None:
        own = Lexicon() if self._file is None else self._file.current()
        if not own.digest and not self._beneath.digest:
            return None
        # Lexica are put together once, not for every text.
        digest, both = self._both
        if digest != own.digest or not both.digest:
            both = own.over(self._beneath)
            self._both = own.digest, both
        return both

    async def read(
        self,
        text: str,
        dialect: str,
        *,
        context: str | None = None,
        ssml: bool = False,
    ) -> Read:
        """Read a text, or remember how it was read.

        Args:
            text: Any string.
            dialect: ``zh``, ``gd`` or ``sc``.
            context: What ambiguous forms are about.
            ssml: Whether the text is marked up.

        Returns:
            The reading.

        Raises:
            YaoheError: As :func:`common.text.read`.
        """
        lexicon = self._lexicon
        digest = lexicon.digest if lexicon else ""
        known = (text, dialect, digest, context or "", ssml, RULES_VERSION)
        found = self._known.get(known)
        if found is not None:
            self._known.move_to_end(known)
            return found
        if len(text) > MAX_INLINE_CHARACTERS:
            found = await asyncio.to_thread(
                _read, text, dialect, lexicon, context, ssml
            )
        else:
            found = _read(text, dialect, lexicon, context, ssml)
        if len(text) <= MAX_REMEMBERED_CHARACTERS:
            self._known[known] = found
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        return found


def _read(
    text: str, dialect: str, lexicon: Lexicon | None, context: str | None, ssml: bool
) -> Read:
    reading = read(text, dialect, lexicon=lexicon, context=context, ssml=ssml)
    symbols = json.dumps(reading.symbols, separators=(",", ":")).encode()
    return Read(reading, hashlib.sha256(symbols).hexdigest())
