"""Where the clauses of an utterance end, in samples, before any of it is made."""

from __future__ import annotations

from collections.abc import Sequence

from common.speech import Pauses
from common.text.symbols import BOS, EOS, IDS, PAD, PAUSES, WORD, Symbol
from common.voice import source
from common.voice.sentences import sentences_of
from common.voice.walk import Networks, Style, timing

_MARKS = frozenset((IDS[BOS], IDS[EOS]))
_PAUSES = frozenset(IDS[name] for name in PAUSES)


def clause_ends(networks: Networks, symbols: Sequence[Symbol], style: Style) -> Pauses:
    """Say where the pauses of an utterance end.

    Args:
        networks: The voice.
        symbols: What will be said, as the walk gets it.
        style: How.

    Returns:
        Pairs, in order: how many of ``symbols`` end there, and how many samples.
    """
    places = [n for n, symbol in enumerate(symbols) if symbol.id not in _MARKS]
    ends: list[tuple[int, int]] = []
    said, frames = 0, 0
    for sentence in sentences_of(symbols):
        _, counts = timing(networks, sentence, style)
        for symbol, count in zip(sentence, counts.tolist(), strict=True):
            frames += count
            if symbol.id in _MARKS:
                continue
            said += 1
            if symbol.id in _PAUSES:
                ends.append((places[said - 1] + 1, frames * source.HOP))
    return tuple(ends)


def has_words(symbols: Sequence[Symbol]) -> bool:
    """Whether anything but pauses is left to say."""
    silent = _PAUSES | {IDS[WORD], IDS[PAD]}
    return any(symbol.id not in silent for symbol in symbols)
