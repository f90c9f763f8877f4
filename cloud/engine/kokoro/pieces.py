"""A text in pieces that Kokoro can speak one after another.

The model takes a limited number of tokens and gives no sound before it has spoken all
of them. So a text is cut at its pauses: the first piece early, that sound starts soon,
the others at sentence ends. Silence between pieces is ours: the model's own (about
0.4 s before and 0.75 s after) is trimmed, and the pause that the mark stands for, or
the length of an explicit break, is put in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloud.engine.kokoro.tokens import tokens_of
from common.text.symbols import BOS, BREAK, EOS, PAD, PAUSES, WORD, Symbol

MAX_TOKENS = 400
"""Tokens in one piece at most; the model itself ends at 510."""
LONG_TOKENS = 120
"""A piece this long ends at any pause and not only at a sentence's end."""
FIRST_TOKENS = 24
"""The first piece ends at any pause from here on (about five syllables)."""

PAUSE_MS = {
    **{"、": 80, ",": 160, ";": 220, ":": 200, "—": 200},
    **{".": 350, "!": 350, "?": 350, "…": 400},
}
"""Silence that a mark stands for, milliseconds at speed 1."""

_MARKS = frozenset((PAD, BOS, EOS))
_SENTENCE_ENDS = frozenset((".", "!", "?", "…"))


@dataclass(frozen=True)
class Piece:
    """Something to speak and the silence after it.

    Attributes:
        symbols: What is spoken, without breaks; empty for silence alone.
        pause_ms: Silence that scales with the speed, milliseconds.
        break_ms: Silence of an explicit break, milliseconds.
        speed: Factor of this piece.
        pitch: Shift in semitones.
        volume: Gain in decibels.
    """

    symbols: tuple[Symbol, ...]
    pause_ms: int
    break_ms: int
    speed: float
    pitch: float
    volume: float


def pieces_of(symbols: Sequence[Symbol]) -> Iterator[Piece]:
    """Cut a text.

    Args:
        symbols: A sentence or more, with or without start and end marks.

    Yields:
        Pieces in order; together they hold every segment exactly once.
    """
    held: list[Symbol] = []
    tokens = 0
    is_first = True
    for symbol in symbols:
        if symbol.name in _MARKS:
            continue
        cost = len(tokens_of((symbol,)).ids)
        if held and (_edits(symbol) != _edits(held[0]) or tokens + cost > MAX_TOKENS):
            kept = _word_end(held) if _edits(symbol) == _edits(held[0]) else len(held)
            yield _piece(held[:kept])
            held, is_first = held[kept:], False
            tokens = sum(len(tokens_of((other,)).ids) for other in held)
        held.append(symbol)
        tokens += cost
        if _ends(symbol, tokens, is_first=is_first):
            yield _piece(held)
            held, tokens, is_first = [], 0, False
    if held:
        yield _piece(held)


def _edits(symbol: Symbol) -> tuple[int, int, int]:
    """What the model cannot change inside a piece."""
    return (symbol.speed, symbol.pitch, symbol.volume)


def _word_end(held: Sequence[Symbol]) -> int:
    """Where to cut a run without any pause: after its last word, else at its end."""
    for index in range(len(held) - 1, 0, -1):
        if held[index].name == WORD:
            return index + 1
    return len(held)


def _ends(symbol: Symbol, tokens: int, *, is_first: bool) -> bool:
    """Whether a piece ends after this symbol."""
    name = symbol.name
    if name == BREAK or name in _SENTENCE_ENDS:
        return True
    return name in PAUSE_MS and tokens >= (FIRST_TOKENS if is_first else LONG_TOKENS)


def _piece(held: Sequence[Symbol]) -> Piece:
    """Close a piece: what it speaks, and the silence that follows."""
    speed, pitch, volume = _edits(held[0])
    last = held[-1]
    is_spoken = any(
        symbol.name not in PAUSES and symbol.name != WORD for symbol in held
    )
    return Piece(
        symbols=tuple(s for s in held if s.name != BREAK) if is_spoken else (),
        pause_ms=PAUSE_MS.get(last.name, 0),
        break_ms=sum(symbol.ms for symbol in held),
        speed=speed / 1000,
        pitch=pitch / 100,
        volume=volume / 100,
    )
