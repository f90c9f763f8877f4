"""Symbols cut into sentences that a voice speaks one after the other.

A sentence ends at a full stop, question or exclamation mark; one that is longer than
:data:`LONGEST` symbols is cut at its last pause, else at its last word. So memory and
the time to the first sound do not grow with the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from common.text.symbols import BOS, EOS, IDS, PUNCTUATION, WORD, Symbol, framed

LONGEST = 160
"""Symbols of one sentence; about 12 seconds of speech."""

_MARKS = frozenset((IDS[BOS], IDS[EOS]))
_STOPS = frozenset(IDS[mark] for mark in (".", "!", "?"))
_PAUSES = frozenset(IDS[mark] for mark in PUNCTUATION)
_WORD = IDS[WORD]


def _cut(part: list[Symbol]) -> int:
    """Where a part that is too long is best cut: index of the first symbol after."""
    for wanted in (_PAUSES, frozenset((_WORD,))):
        for index in range(LONGEST, LONGEST // 4, -1):
            if part[index - 1].id in wanted:
                return index
    return LONGEST


def sentences_of(symbols: Sequence[Symbol]) -> Iterator[tuple[Symbol, ...]]:
    """Cut an utterance into sentences.

    Args:
        symbols: The utterance, with or without start and end marks.

    Yields:
        Sentences with start and end marks, in order; nothing is lost.
    """
    part: list[Symbol] = []
    body = [symbol for symbol in symbols if symbol.id not in _MARKS]
    for index, symbol in enumerate(body):
        part.append(symbol)
        if len(part) > LONGEST:
            cut = _cut(part)
            yield framed(part[:cut])
            part = part[cut:]
        # Several marks in a row close one sentence together.
        goes_on = index + 1 < len(body) and body[index + 1].id in _PAUSES
        if symbol.id in _STOPS and not goes_on:
            yield framed(part)
            part = []
    if part:
        yield framed(part)
