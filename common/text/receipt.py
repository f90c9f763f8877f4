"""The reading receipt: what will be said for a text, and why, character by character.

:class:`Reading` is what trainer, cloud and box all get from :func:`common.text.read`.
Its promises: every character of the input lies in exactly one span; a span that is
silent says so by a rule ``silent.*``; a character that nobody could read is in
``unread`` as well, and the caller decides whether that fails the call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from common.text.symbols import SPEED_ONE, Symbol

Language = Literal["zh", "gd", "sc", "en"]

UNREAD_RULE = "unread"
"""The rule of a span whose characters nobody could read."""


@dataclass(frozen=True)
class Unit:
    """One step of the spoken stream: a syllable or a pause.

    Attributes:
        value: A surface syllable (``hang2``, ``gwong1``, ``HH.EH1``) or, for a pause,
            a punctuation symbol or ``<break>``.
        language: How ``value`` is spelled; pauses keep their neighbour's.
        is_pause: Whether this is a pause.
        starts_word: Whether a word begins here.
        ms: Length of a ``<break>`` in milliseconds.
        speed: Speed in thousandths of the voice's own.
        pitch: Shift in cents.
        volume: Gain in hundredths of a decibel.
    """

    value: str
    language: Language = "zh"
    is_pause: bool = False
    starts_word: bool = False
    ms: int = 0
    speed: int = SPEED_ONE
    pitch: int = 0
    volume: int = 0


@dataclass(frozen=True)
class Span:
    """A stretch of input, what it became and by which rule.

    Attributes:
        start: First character of the input.
        end: One past the last.
        text: The input characters.
        spoken: What they became in ``spoken``; empty where silent.
        rule: Stable dotted name, such as ``money.unit_price`` or ``silent.emoji``.
        first: Index of its first syllable in ``syllables``.
        count: How many syllables are its own.
    """

    start: int
    end: int
    text: str
    spoken: str
    rule: str
    first: int = 0
    count: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The span as plain JSON."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "spoken": self.spoken,
            "rule": self.rule,
            "syllables": [self.first, self.first + self.count],
        }


@dataclass(frozen=True)
class Unread:
    """Characters that could not be read.

    Attributes:
        start: First character of the input.
        end: One past the last.
        text: The characters.
    """

    start: int
    end: int
    text: str

    def as_dict(self) -> dict[str, Any]:
        """The gap as plain JSON."""
        return {"start": self.start, "end": self.end, "text": self.text}


@dataclass(frozen=True)
class Reading:
    """A text as it will be spoken.

    Attributes:
        text: The input, unchanged.
        dialect: ``zh``, ``gd`` or ``sc``.
        spoken: The text in words.
        syllables: Citation readings, one per spoken syllable.
        surface: The same after sandhi; as long as ``syllables``.
        spans: Cover every character of ``text`` in order, without gap or overlap.
        unread: Characters nobody could read; also covered by a span.
        units: The spoken stream.
        symbols: What the voice receives, with start and end marks.
        lexicon_sha256: Digest of the lexicon that decided some of it, hex; empty where
            none did, so that anybody arrives at this reading.
    """

    text: str
    dialect: str
    spoken: str
    syllables: tuple[str, ...]
    surface: tuple[str, ...]
    spans: tuple[Span, ...]
    unread: tuple[Unread, ...]
    units: tuple[Unit, ...] = field(repr=False)
    symbols: tuple[Symbol, ...] = field(repr=False)
    lexicon_sha256: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to say."""
        return not self.syllables

    def as_dict(self) -> dict[str, Any]:
        """The receipt's reading as plain JSON.

        Returns:
            The keys ``spoken``, ``syllables``, ``surface``, ``spans``, ``unread``.
        """
        return {
            "spoken": self.spoken,
            "syllables": list(self.syllables),
            "surface": list(self.surface),
            "spans": [span.as_dict() for span in self.spans],
            "unread": [gap.as_dict() for gap in self.unread],
        }


@dataclass(frozen=True)
class Receipt:
    """A reading together with what the engine promises about it.

    Attributes:
        utterance: The utterance's id.
        reading: What was read.
        enforced: True when the engine speaks our symbols; False when it takes
            characters and chooses readings itself.
    """

    utterance: str
    reading: Reading
    enforced: bool

    def as_dict(self) -> dict[str, Any]:
        """The receipt as plain JSON."""
        return {
            "utterance": self.utterance,
            "text": self.reading.text,
            "dialect": self.reading.dialect,
            "enforced": self.enforced,
            **self.reading.as_dict(),
        }
