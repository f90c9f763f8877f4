"""Syllable error: what was heard against what should have been said.

Both sides go through :func:`common.text.read`, so that ``9.9元`` and ``九点九元`` are
equal, and are compared as pinyin without tones. A recogniser writes numbers as digits
and does not say how it heard them: each run of digits counts as the reading, whole or
digit by digit, that fits better. 两 counts as 二 and 幺 as 一, on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from common.text import read

_DIGITS = re.compile(r"[0-9]+")
_TONE = re.compile(r"[0-9]")
_ENGLISH = re.compile(r"[A-Za-z][A-Za-z'-]+")
_SAME = str.maketrans({"两": "二", "幺": "一", "〇": "零"})
_SPELLED = str.maketrans("0123456789", "零一二三四五六七八九")


@dataclass(frozen=True)
class Score:
    """How much of a text was heard.

    Attributes:
        errors: Syllables substituted, missing or too many.
        syllables: Syllables of the text.
    """

    errors: int
    syllables: int

    @property
    def rate(self) -> float:
        """Errors per syllable; 0 for an empty text that was heard as empty."""
        return self.errors / max(1, self.syllables)


def syllables_of(text: str) -> tuple[str, ...]:
    """Spell a text in syllables without tones.

    Args:
        text: Anything.

    Returns:
        Pinyin without tones and without erhua; English as phones without stress.
    """
    spoken = read(text).spoken.translate(_SAME)
    plain = (_TONE.sub("", syllable) for syllable in read(spoken).syllables)
    return tuple(
        name[:-1] if name.endswith("r") and name.islower() and len(name) > 2 else name
        for name in plain
    )


def distance(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Levenshtein distance between two sequences."""
    row = np.arange(len(heard) + 1)
    for index, name in enumerate(wanted, start=1):
        before, row = row, np.empty_like(row)
        row[0] = index
        for column, other in enumerate(heard, start=1):
            row[column] = min(
                before[column] + 1,
                row[column - 1] + 1,
                before[column - 1] + (name != other),
            )
    return int(row[-1])


def score(text: str, heard: str) -> Score:
    """Compare a text with what a recogniser wrote.

    Args:
        text: What should have been said.
        heard: What was understood.

    Returns:
        The errors.
    """
    wanted = syllables_of(text)
    best = distance(wanted, syllables_of(heard))
    # From the right, so that places to the left keep their numbers.
    for run in reversed(list(_DIGITS.finditer(heard))):
        spelled = run[0].translate(_SPELLED)
        other = heard[: run.start()] + spelled + heard[run.end() :]
        errors = distance(wanted, syllables_of(other))
        if errors < best:
            best, heard = errors, other
    return Score(best, len(wanted))


def word_score(text: str, heard: str) -> Score:
    """Compare the English words of a text with those that a recogniser wrote.

    Args:
        text: What should have been said.
        heard: What was understood.

    Returns:
        Errors among the words of Latin letters, case and hyphens aside; its
        ``syllables`` are words.
    """
    wanted, found = (
        [re.sub(r"[-']", "", word).lower() for word in _ENGLISH.findall(side)]
        for side in (text, heard)
    )
    return Score(distance(wanted, found) if wanted else 0, len(wanted))


def total(scores: Sequence[Score]) -> Score:
    """Errors and syllables of many texts together."""
    return Score(sum(s.errors for s in scores), sum(s.syllables for s in scores))
