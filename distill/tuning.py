"""Measures the line on which weights sing a dialect's levels.

Weights smooth what they are asked for: a syllable's contour leans on its neighbours'
and flattens towards the end of a phrase. What they answer for sentences (timing and
pitch only) gives each voice the line that :mod:`common.voice.hold` holds it to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from common.audio.pcm import SAMPLE_RATE
from common.protocol.contours import MAX_CENTS, Contours, Dialect, Scale
from common.text import read
from common.text.symbols import Symbol
from common.voice import walk
from common.voice.accent import Accent
from common.voice.clauses import symbol_spans
from common.voice.source import HOP
from distill.corpus.sentences import Sentences
from distill.evaluate import tones
from distill.evaluate.syllables import PITCH_PER_SECOND, Spoken, spoken

HOLD = 700
"""Share of the way to the line, in thousandths. In sound 89 % of Chengdu's tones are
told apart with it (50 sentences); more takes what is left of the voice's own tune."""
EMPHASIS = 1.05
"""How much farther apart levels lie on the line than in the weights' own answers."""
LEAST_STEP = 100
"""Cents of a level, however little the weights make of it."""
SENTENCES = 160
"""Sentences to measure on."""
KINDS = ("signage", "words")
Symbols = Sequence[Symbol]


class Merit(NamedTuple):
    """How well tones are sung.

    Attributes:
        nearest: Share of syllables that are nearest to their own target.
        correlation: Of their points with the targets.
    """

    nearest: float
    correlation: float

    def __str__(self) -> str:
        """For people."""
        return f"{self.nearest:.1%} told apart, correlation {self.correlation:.2f}"


class Tuned(NamedTuple):
    """A voice before and after.

    Attributes:
        voice: Its logical name.
        before: Left to its weights.
        after: Held to its line.
    """

    voice: str
    before: Merit
    after: Merit


def sentences_of(seed: int, dialect: str, count: int = SENTENCES) -> list[Symbols]:
    """Draw sentences to measure on; a held sentence is never among them.

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
    report: Callable[[Tuned], None] = lambda tuned: None,
) -> Dialect:
    """Find each voice's line.

    Args:
        networks: The weights that the dialect stands on.
        speakers: Speaker slots by voice.
        dialect: ``sc`` or ``gd``.
        table: The table.
        sentences: Symbols of sentences in the dialect; not those that are measured on.
        report: Called after each voice.

    Returns:
        The table with a scale for each voice; those of other voices stay.
    """
    accent = Accent(dialect, table)
    asked = [(each, accent.spoken(each)) for each in sentences]
    scales = dict(table.scales)
    for voice, speaker in speakers.items():
        free = _heard(networks, asked, walk.Style(speaker, dialect))
        scales[voice] = _line(free)
        style = walk.Style(speaker, dialect, scale=scales[voice])
        report(Tuned(voice, *map(_merit, (free, _heard(networks, asked, style)))))
    return table.model_copy(update={"scales": scales})


def _heard(
    networks: walk.Networks,
    asked: Sequence[tuple[Symbols, Symbols]],
    style: walk.Style,
) -> tones.Heard:
    """All syllables as the weights would sing them."""
    said = [each for pair in asked for each in _said(networks, *pair, style)]
    return tones.heard(said, style.dialect)


def _said(
    networks: walk.Networks, meant: Symbols, asked: Symbols, style: walk.Style
) -> list[Spoken]:
    """Syllables of one sentence."""
    pitch = walk.plan(networks, asked, style).pitch
    places = np.arange(len(pitch) * HOP * PITCH_PER_SECOND // SAMPLE_RATE)
    frames = places * SAMPLE_RATE // PITCH_PER_SECOND // HOP
    octaves, voiced = pitch[frames].T
    hz = np.where(voiced > 0, walk.PITCH_REFERENCE_HZ * np.exp2(octaves), 0.0)
    spans = symbol_spans(networks, asked, style)
    return spoken(meant, spans, hz.tolist(), style.dialect)


def _merit(found: tones.Heard) -> Merit:
    nearest = float(tones.told_apart(found)["nearest_target"])
    return Merit(nearest, tones.correlation(found))


def _line(found: tones.Heard) -> Scale:
    """The line of a voice, its levels a little farther apart."""

    def cents(semitones: float) -> int:
        return int(np.clip(round(100 * semitones), -MAX_CENTS, MAX_CENTS))

    above_100_hz = 12 * np.log2(walk.PITCH_REFERENCE_HZ / 100)
    return Scale(
        middle=cents(found.middle - above_100_hz),
        step=max(LEAST_STEP, cents(EMPHASIS * found.step)),
        fall=cents(found.fall),
        drop=cents(found.drop),
        hold=HOLD,
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
