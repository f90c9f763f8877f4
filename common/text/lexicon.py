"""The shop's lexicon: readings of its own that win over every rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Lexicon:
    """Words with fixed readings, per dialect.

    Attributes:
        words: For each dialect, words and their syllables.
    """

    words: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
