"""Sets a dialect's table of contours so that the weights sing what is meant.

Weights smooth what they are asked for: a syllable's contour leans on its neighbours'
and flattens towards the end of a phrase. So they are asked for more than is meant. Each
round speaks sentences (timing and pitch only), compares the mean contour of each tone
in each place with its target, and moves the table's entry by what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from common.audio.pcm import SAMPLE_RATE
from common.protocol.contours import MAX_LEVEL, MIN_LEVEL, Contours, Dialect, Tone
from common.text import read
from common.text.symbols import Symbol
from common.voice import walk
from common.voice.accent import Accent, phrases_of
from common.voice.clauses import symbol_spans
from common.voice.source import HOP
from distill.corpus.sentences import Sentences
from distill.evaluate import tones
from distill.evaluate.syllables import (
    FULL_TONES,
    PITCH_PER_SECOND,
    Floats,
    Spoken,
    spoken,
)

ROUNDS = 6
STEP = 0.7
"""Share of what is missing that a round adds."""
FEWEST = 8
"""Syllables of a tone in a place below which its entry is left alone."""
SENTENCES = 160
"""Sentences to tune on."""
KINDS = ("signage", "words")
Symbols = Sequence[Symbol]
Cell = tuple[int, str]
"""A tone and its place: ``first``, or the number of the tone before."""
Missing = dict[Cell, list[Floats]]
"""Levels that each syllable of a cell lacks, ``[3]``."""


@dataclass(frozen=True)
class Round:
    """A table, and how well it did.

    Attributes:
        table: The table.
        correlation: Of spoken points with targets, by voice.
        nearest: Share of syllables that are nearest to their own target, by voice.
    """

    table: Dialect
    correlation: Mapping[str, float]
    nearest: Mapping[str, float]

    @property
    def merit(self) -> float:
        """What the best round has most of: tones told apart, in the worst voice."""
        return min(self.nearest.values())


def sentences_of(seed: int, dialect: str, count: int = SENTENCES) -> list[Symbols]:
    """Draw sentences to tune on; a held sentence is never among them.

    Args:
        seed: Decides which.
        dialect: How they are read.
        count: How many.

    Returns:
        The symbols of each.
    """
    drawer = Sentences(seed)
    texts = [drawer.draw(KINDS[number % len(KINDS)])[0] for number in range(count)]
    return [read(text, dialect).symbols for text in texts]


def tune(
    networks: walk.Networks,
    speakers: Mapping[str, int],
    dialect: str,
    table: Dialect,
    sentences: Sequence[Symbols],
    report: Callable[[int, Round], None] = lambda number, done: None,
) -> Round:
    """Move a table until the weights' own pitch is near to the targets.

    Args:
        networks: The weights that the dialect stands on.
        speakers: Speaker slots by voice, all of which count alike.
        dialect: ``sc`` or ``gd``.
        table: Where to begin.
        sentences: Symbols of sentences in the dialect; not those that are measured on.
        report: Called with the number of a round and how its table did.

    Returns:
        The best round; the first where none was better.
    """
    rounds = []
    for number in range(ROUNDS + 1):
        done, missing = _heard(networks, speakers, dialect, table, sentences)
        report(number, done)
        rounds.append(done)
        table = _moved(table, missing)
    return max(rounds, key=lambda done: done.merit)


def _heard(
    networks: walk.Networks,
    speakers: Mapping[str, int],
    dialect: str,
    table: Dialect,
    sentences: Sequence[Symbols],
) -> tuple[Round, Missing]:
    """Speak all sentences, and say what each entry of the table lacks."""
    accent = Accent(dialect, table)
    correlation, nearest = {}, {}
    missing: Missing = {}
    for voice, speaker in speakers.items():
        style = walk.Style(speaker, dialect)
        said = [
            pair for each in sentences for pair in _said(networks, accent, each, style)
        ]
        found = tones.heard([each for _, each in said], dialect)
        correlation[voice] = round(tones.correlation(found), 4)
        nearest[voice] = float(tones.told_apart(found)["nearest_target"])
        cells = {id(each): cell for cell, each in said}
        gaps = found.targets - found.levels
        for each, gap in zip(found.syllables, gaps, strict=True):
            missing.setdefault(cells[id(each)], []).append(gap)
    return Round(table, correlation, nearest), missing


def _said(
    networks: walk.Networks,
    accent: Accent,
    symbols: Symbols,
    style: walk.Style,
) -> list[tuple[Cell, Spoken]]:
    """Syllables of a sentence as the weights would speak them, each with its cell."""
    asked = accent.spoken(symbols)
    pitch = walk.plan(networks, asked, style).pitch
    places = np.arange(len(pitch) * HOP * PITCH_PER_SECOND // SAMPLE_RATE)
    frames = places * SAMPLE_RATE // PITCH_PER_SECOND // HOP
    octaves, voiced = pitch[frames].T
    hz = np.where(voiced > 0, walk.PITCH_REFERENCE_HZ * np.exp2(octaves), 0.0)
    spans = symbol_spans(networks, asked, style)
    cells = []
    for phrase in phrases_of(symbols, style.dialect):
        before = 0
        for number, syllable in enumerate(phrase):
            if syllable.tone in FULL_TONES[style.dialect]:
                place = str(before) if number and before else "first"
                cells.append((syllable.tone, place))
            before = syllable.tone
    found = spoken(symbols, spans, hz.tolist(), style.dialect)
    return list(zip(cells, found, strict=True))


def _moved(table: Dialect, missing: Missing) -> Dialect:
    """The table with every entry nearer to what makes its tone."""
    shapes = dict(table.tones)
    for (tone, place), gaps in missing.items():
        if len(gaps) >= FEWEST:
            shapes[str(tone)] = _with(
                shapes[str(tone)], place, np.mean(np.array(gaps), 0)
            )
    return table.model_copy(update={"tones": shapes})


def _with(tone: Tone, place: str, gap: Floats) -> Tone:
    """A tone with one of its entries moved by ``[3]`` levels."""
    is_first = place == "first"
    now = (tone.first if is_first else tone.after.get(place)) or tone.anywhere
    levels = [
        int(np.clip(round(level + 10 * STEP * part), MIN_LEVEL, MAX_LEVEL))
        for level, part in zip(now, gap, strict=True)
    ]
    if is_first:
        return tone.model_copy(update={"first": levels})
    return tone.model_copy(update={"after": {**tone.after, place: levels}})


def shares(done: Round) -> str:
    """A round for people: what each voice reached."""
    return ", ".join(
        f"{voice} {share:.1%} told apart, correlation {done.correlation[voice]:.2f}"
        for voice, share in done.nearest.items()
    )


def table_bytes(table: Contours) -> bytes:
    """A table as its file is written: an entry a line, so that changes can be read.

    Args:
        table: The table.

    Returns:
        JSON.
    """
    values = table.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    text = json.dumps(values, indent=2)
    # Levels stay together.
    text = re.sub(r"\[\s+(\d+),\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2, \3]", text)
    return (text + "\n").encode()
