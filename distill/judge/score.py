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
from numpy.typing import NDArray

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


def _distances(wanted: Sequence[str], heard: Sequence[str]) -> NDArray[np.int64]:
    """Levenshtein distances between all beginnings of two sequences.

    Returns:
        ``[wanted + 1, heard + 1]``.
    """
    table = np.zeros((len(wanted) + 1, len(heard) + 1), np.int64)
    table[0] = np.arange(len(heard) + 1)
    for index, name in enumerate(wanted, start=1):
        table[index, 0] = index
        for column, other in enumerate(heard, start=1):
            table[index, column] = min(
                table[index - 1, column] + 1,
                table[index, column - 1] + 1,
                table[index - 1, column - 1] + (name != other),
            )
    return table


def distance(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Levenshtein distance between two sequences."""
    return int(_distances(wanted, heard)[-1, -1])


def _spelled(wanted: Sequence[str], heard: str) -> tuple[str, ...]:
    """Syllables of what was heard, its digits read in the way that fits best."""
    found = syllables_of(heard)
    best = distance(wanted, found)
    # From the right, so that places to the left keep their numbers.
    for run in reversed(list(_DIGITS.finditer(heard))):
        spelled = run[0].translate(_SPELLED)
        other = heard[: run.start()] + spelled + heard[run.end() :]
        syllables = syllables_of(other)
        errors = distance(wanted, syllables)
        if errors < best:
            best, heard, found = errors, other, syllables
    return found


def score(text: str, heard: str) -> Score:
    """Compare a text with what a recogniser wrote.

    Args:
        text: What should have been said.
        heard: What was understood.

    Returns:
        The errors.
    """
    wanted = syllables_of(text)
    return Score(distance(wanted, _spelled(wanted, heard)), len(wanted))


def understood(text: str, heard: str) -> list[bool]:
    """Say for each syllable of a text whether it was heard.

    Args:
        text: What should have been said.
        heard: What was understood.

    Returns:
        One answer a syllable; what was heard too much is nobody's fault.
    """
    wanted = syllables_of(text)
    found = _spelled(wanted, heard)
    table = _distances(wanted, found)
    answers = [False] * len(wanted)
    index, column = len(wanted), len(found)
    while index and column:
        is_same = wanted[index - 1] == found[column - 1]
        here = table[index, column]
        if here == table[index - 1, column - 1] + (not is_same):
            index, column = index - 1, column - 1
            answers[index] = is_same
        elif here == table[index - 1, column] + 1:
            index -= 1
        else:
            column -= 1
    return answers


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
