"""The shop's lexicon: readings of its own that win over every rule.

File format, UTF-8, one entry a line, fields parted by tabs: the word; its reading
(pinyin or jyutping syllables, ARPAbet syllables, ``=`` and words to say, or
``letters``); optionally the dialects it holds for, parted by commas. ``#`` begins a
comment line. A line that cannot be understood rejects the whole file, by number.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from common.errors import YaoheError
from common.text import forms
from common.text.pieces import parse_reading
from common.text.symbols import DIALECTS

RULES = frozenset(("lexicon.reading", "lexicon.text"))
"""Rules of spans that a lexicon decided."""
MAX_ENTRIES = 20_000
MAX_WORD = 64
"""Longest word of a lexicon, characters."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What a word of the lexicon becomes.

    Attributes:
        said: Words to say.
        readings: Their syllables; empty when the words are to be read.
    """

    said: str
    readings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lexicon:
    """Words with readings, per dialect.

    Attributes:
        words: For each dialect, words in their unified simplified form.
        digest: SHA-256 of the file's text, empty for an empty lexicon.
    """

    words: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    digest: str = ""

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        patterns: dict[str, re.Pattern[str]] = {}
        for dialect, entries in self.words.items():
            longest = sorted(entries, key=len, reverse=True)
            if longest:
                whole = "|".join(map(_guarded, longest))
                patterns[dialect] = re.compile(whole, re.IGNORECASE)
        return patterns

    def find(
        self, text: str, dialect: str, start: int, end: int
    ) -> Iterator[tuple[int, int, Entry]]:
        """Find the lexicon's words in a unified simplified text.

        Args:
            text: The text.
            dialect: Whose entries to use.
            start: First character to look at.
            end: One past the last.

        Yields:
            Start, end and entry of each match, left to right, longest first.
        """
        pattern = self._patterns.get(dialect)
        if pattern is None:
            return
        entries = self.words[dialect]
        for match in pattern.finditer(text, start, end):
            yield match.start(), match.end(), entries[match[0].lower()]

    def over(self, beneath: Lexicon) -> Lexicon:
        """Put these words over another lexicon's.

        Args:
            beneath: Whose words hold where this lexicon has none.

        Returns:
            Both as one.
        """
        if not beneath.digest or not self.digest:
            return self if self.digest else beneath
        words = {
            dialect: {**beneath.words.get(dialect, {}), **self.words.get(dialect, {})}
            for dialect in DIALECTS
        }
        both = f"{self.digest} {beneath.digest}"
        return Lexicon(words, hashlib.sha256(both.encode()).hexdigest())

    @classmethod
    def parse(cls, text: str) -> Lexicon:
        """Read a lexicon file's text.

        Args:
            text: Lines as the module describes.

        Returns:
            The lexicon.

        Raises:
            YaoheError: ``invalid_request`` with the number of the wrong line.
        """
        words: dict[str, dict[str, Entry]] = {dialect: {} for dialect in DIALECTS}
        for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            word, reading, dialects = _fields(line, number)
            for dialect in dialects:
                found = parse_reading(reading, word, dialect)
                if found is None:
                    raise _wrong(number, f"{reading!r} is no reading in {dialect}")
                words[dialect][_key(word)] = Entry(*found)
                if len(words[dialect]) > MAX_ENTRIES:
                    raise _wrong(number, f"more than {MAX_ENTRIES} entries")
        return cls(words, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def _fields(line: str, number: int) -> tuple[str, str, tuple[str, ...]]:
    fields = [part.strip() for part in line.split("\t")]
    if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
        raise _wrong(number, "expected word, tab, reading and perhaps dialects")
    if len(fields[0]) > MAX_WORD:
        raise _wrong(number, f"a word longer than {MAX_WORD} characters")
    named = fields[2] if len(fields) == 3 else ""
    if named:
        dialects = tuple(name.strip() for name in named.split(","))
        if not set(dialects) <= set(DIALECTS):
            raise _wrong(number, f"unknown dialect in {named!r}")
        return fields[0], fields[1], dialects
    # Without dialects a reading holds where it is spelled right; jyutping and pinyin
    # overlap, so syllables default to Mandarin and only other forms to all.
    everywhere = fields[1].startswith("=") or fields[1][:1].isupper()
    if everywhere or fields[1] == "letters":
        return fields[0], fields[1], DIALECTS
    return fields[0], fields[1], ("zh",)


def _wrong(number: int, why: str) -> YaoheError:
    return YaoheError(
        "invalid_request", f"lexicon line {number}: {why}", param="lexicon"
    )


def _key(word: str) -> str:
    return forms.convert(forms.unify(word), "t2s").lower()


def _guarded(word: str) -> str:
    """The word as a pattern that never matches inside a Latin word or a number."""
    before = r"(?<![A-Za-z])" if word[0].isascii() and word[0].isalpha() else ""
    after = r"(?![A-Za-z])" if word[-1].isascii() and word[-1].isalpha() else ""
    if word[0].isdigit():
        before = r"(?<![\d.])"
    if word[-1].isdigit():
        after = r"(?!\d|\.\d)"
    return before + re.escape(word) + after


class LexiconFile:
    """A lexicon that follows its file: edited, it holds from the next reading on.

    A broken edit keeps the last good state and says so in :attr:`problem` and the log.
    """

    def __init__(self, path: Path) -> None:
        """Remember the file.

        Args:
            path: The file; it may not exist yet.
        """
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._lexicon = Lexicon()
        self.problem = ""

    def current(self) -> Lexicon:
        """The lexicon as the file says now."""
        try:
            status = self._path.stat()
        except OSError:
            self._stamp, self._lexicon, self.problem = None, Lexicon(), ""
            return self._lexicon
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self._stamp:
            return self._lexicon
        self._stamp = stamp
        try:
            self._lexicon = Lexicon.parse(self._path.read_text("utf-8"))
            self.problem = ""
        except (OSError, UnicodeDecodeError) as error:
            self.problem = f"{self._path.name}: {error}"
        except YaoheError as error:
            self.problem = f"{self._path.name}: {error.message}"
        if self.problem:
            _log.warning("the lexicon is kept as it was: %s", self.problem)
        return self._lexicon

    def require(self) -> Lexicon:
        """The lexicon, where a mistake in it must not go unnoticed.

        Raises:
            YaoheError: ``invalid_request`` with the wrong line.
            OSError: The file cannot be read.
        """
        with self._path.open("rb"):
            lexicon = self.current()
        if self.problem:
            raise YaoheError("invalid_request", self.problem, param="lexicon")
        return lexicon
