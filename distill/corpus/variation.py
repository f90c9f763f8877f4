"""The same sentence under a dialect's contours; see :mod:`distill.corpus.melody`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from common.text.symbols import DIALECTS, tone_inputs
from distill.corpus import melody
from distill.corpus.dataset import Utterance
from distill.corpus.melody import Melody, Tune

SHARE = 0.35
"""Share of the Mandarin sentences that are heard with a dialect's contours. Sentences
in a dialect's segments always are: Mandarin contours in them only came of the teacher.
"""
EMPHASIS = 1.4
"""How much more a dialect's contours move the pitch than the teacher's Mandarin does:
more levels share the range, so they must lie farther apart to be told from one another.
With it a level is 1.4 to 2.5 semitones of the woman's voice, by place in the phrase.
"""
FIT_FROM = 200
"""Sentences of a speaker that its melody is measured on, at most."""
LOWEST, HIGHEST = -1.8, 1.6
"""Octaves around 200 Hz that a changed pitch keeps to (57 to 606 Hz)."""


def _tune(item: Utterance) -> Tune:
    syllables = melody.syllables_of(item.said)
    durations = item.durations.numpy()
    return Tune(
        pitch=item.pitch.double().numpy(),
        voiced=item.voiced.numpy(),
        drawn=melody.curve(
            syllables, melody.levels_of(item.said, syllables), durations
        ),
        place=melody.places(syllables, durations),
    )


class Variations:
    """Puts dialect contours into sentences, each speaker with its own melody."""

    def __init__(self, items: Sequence[Utterance]) -> None:
        """Measure the speakers' melodies.

        Args:
            items: Sentences as the teacher said them.
        """
        own: dict[int, list[Utterance]] = {}
        for item in items:
            own.setdefault(item.speaker, []).append(item)
        self._melodies: dict[int, Melody] = {
            speaker: melody.fit([_tune(item) for item in mine[:FIT_FROM]])
            for speaker, mine in own.items()
        }

    def vary(
        self, items: Sequence[Utterance], random: np.random.Generator
    ) -> list[Utterance]:
        """Give some sentences other contours.

        Args:
            items: Sentences.
            random: Decides.

        Returns:
            The sentences; sound, mel and the pitch they were said with stay.
        """
        return [self._varied(item, random) for item in items]

    def _varied(self, item: Utterance, random: np.random.Generator) -> Utterance:
        syllables = melody.syllables_of(item.said)
        is_mandarin = item.dialect == 0
        if not syllables or (is_mandarin and random.random() >= SHARE):
            return item
        index = item.dialect or int(random.integers(1, len(DIALECTS)))
        contours = melody.draw_contours(item.said, syllables, DIALECTS[index], random)
        changed = melody.with_contours(item.said, syllables, contours)
        tune = _tune(item)
        levels = melody.levels_of(changed, syllables)
        drawn = melody.curve(syllables, levels, item.durations.numpy())
        gain = self._melodies[item.speaker]
        pitch = tune.pitch + gain.lift(EMPHASIS * drawn - tune.drawn, tune.place)
        return replace(
            item,
            dialect=index,
            tones=torch.tensor([tone_inputs(symbol) for symbol in changed]),
            tune=torch.from_numpy(np.clip(pitch, LOWEST, HIGHEST)).float(),
        )
