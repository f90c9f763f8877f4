"""Phrases at hand that nobody here can ask for, since this box reads them otherwise.

A phrase's key stands on how the cloud read its text. A chain whose cloud has words of
its own (its lexicon) gives some phrases keys that a box without those words never comes
to: it keeps them, and speaks the text in its own reading. Nothing is wrong for the
listener, but somebody should know, and give the box the chain's lexicon.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from common.errors import YaoheError
from common.phrase import phrase_key
from common.text import Lexicon, LexiconFile, read
from edge.db import DatabaseGone
from edge.sync.shelf import Label, Shelf

MAX_CHARACTERS = 2000
"""Characters that are read at a look; the rest waits for the next."""


class Unmatched(NamedTuple):
    """Phrases of the cloud that this box reads otherwise.

    Attributes:
        phrases: How many, of those that were looked at so far.
        text: One of them.
        lexicon: Digest of the lexicon that it was read with, hex; empty where the cloud
            does not say.
    """

    phrases: int = 0
    text: str = ""
    lexicon: str = ""


class Matching:
    """Compares the cloud's phrases with this box's own reading, each of them once."""

    def __init__(self, shelf: Shelf | None, own: LexiconFile | None) -> None:
        """Remember the parts.

        Args:
            shelf: Where the phrases are.
            own: The shop's own words.
        """
        self._shelf = shelf
        self._own = own
        self._lock = threading.Lock()
        self._words = ""
        self._is_matched: dict[str, bool] = {}

    def look(self, beneath: Lexicon) -> Unmatched:
        """Look at some more phrases; takes a while, so call it on a thread.

        Args:
            beneath: The packs' words.

        Returns:
            What was found so far.
        """
        try:
            labels = self._shelf.labels() if self._shelf is not None else []
        except DatabaseGone:
            return Unmatched()
        own = self._own.current() if self._own is not None else Lexicon()
        with self._lock:
            return self._compared(labels, own.over(beneath))

    def _compared(self, labels: list[Label], words: Lexicon) -> Unmatched:
        here = {label.key for label in labels}
        known = self._is_matched if words.digest == self._words else {}
        self._is_matched = {key: known[key] for key in known.keys() & here}
        self._words = words.digest
        left = MAX_CHARACTERS
        for label in labels:
            if label.key not in self._is_matched and left > 0:
                left -= len(label.text)
                self._is_matched[label.key] = _key_here(label, words) == label.key
        found = [one for one in labels if not self._is_matched.get(one.key, True)]
        if not found:
            return Unmatched()
        return Unmatched(len(found), found[0].text, found[0].lexicon)


def _key_here(label: Label, words: Lexicon) -> str:
    """The key that the text has here; empty where it cannot be read."""
    try:
        symbols = read(label.text, label.dialect, lexicon=words).symbols
    except YaoheError:
        return ""
    return phrase_key(symbols, voice=label.voice, dialect=label.dialect)
