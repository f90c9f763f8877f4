"""Where the clauses of an utterance end, in samples, before any of it is made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.speech import Pauses
from common.text.symbols import BOS, EOS, IDS, PAD, PAUSES, WORD, Symbol
from common.voice import source
from common.voice.sentences import sentences_of
from common.voice.walk import Networks, Style, timing

_MARKS = frozenset((IDS[BOS], IDS[EOS]))
_PAUSES = frozenset(IDS[name] for name in PAUSES)


def symbol_spans(
    networks: Networks, symbols: Sequence[Symbol], style: Style
) -> NDArray[np.int64]:
    """Say where each symbol of an utterance begins and ends.

    Args:
        networks: The voice.
        symbols: What will be said, as the walk gets it.
        style: How.

    Returns:
        ``[symbols, 2]``, first sample and one past the last; start and end marks, which
        each sentence has of its own, are empty.
    """
    spans = np.zeros((len(symbols), 2), np.int64)
    places = [n for n, symbol in enumerate(symbols) if symbol.id not in _MARKS]
    said, frames = 0, 0
    for sentence in sentences_of(symbols):
        _, counts = timing(networks, sentence, style)
        for symbol, count in zip(sentence, counts.tolist(), strict=True):
            begin, frames = frames, frames + count
            if symbol.id not in _MARKS:
                spans[places[said]] = begin * source.HOP, frames * source.HOP
                said += 1
    return spans


def clause_ends(networks: Networks, symbols: Sequence[Symbol], style: Style) -> Pauses:
    """Say where the pauses of an utterance end.

    Args:
        networks: The voice.
        symbols: What will be said, as the walk gets it.
        style: How.

    Returns:
        Pairs, in order: how many of ``symbols`` end there, and how many samples.
    """
    spans = symbol_spans(networks, symbols, style)
    return tuple(
        (place + 1, int(spans[place, 1]))
        for place, symbol in enumerate(symbols)
        if symbol.id in _PAUSES - _MARKS
    )


def has_words(symbols: Sequence[Symbol]) -> bool:
    """Whether anything but pauses is left to say."""
    silent = _PAUSES | {IDS[WORD], IDS[PAD]}
    return any(symbol.id not in silent for symbol in symbols)
