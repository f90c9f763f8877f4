"""Held sentences: fixed before the first corpus, never trained on, only measured on."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from common.text import read
from distill.recipe import HeldSet

FOLDER = Path(__file__).parent / "held"
SETS: tuple[HeldSet, ...] = ("signage", "wide", "english", "sc", "gd")
"""Signs, phonetic coverage, English words inside Chinese, Chengdu, Hong Kong."""

_NOT_SAID = re.compile(r"[^0-9A-Za-z\u3400-\u9fff]+")


def held(name: HeldSet) -> tuple[str, ...]:
    """The sentences of a set in their order.

    Args:
        name: One of :data:`SETS`.

    Returns:
        200 sentences of ``signage`` and ``wide``, 40 to 50 of the others.
    """
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line.strip())


def skeleton(text: str) -> str:
    """What of a text is said, without punctuation and spaces, numbers in words."""
    return _NOT_SAID.sub("", read(text).spoken).lower()


@lru_cache(maxsize=1)
def _skeletons() -> frozenset[str]:
    return frozenset(skeleton(text) for name in SETS for text in held(name))


def is_held(text: str) -> bool:
    """Whether a text says the same as a held sentence."""
    return skeleton(text) in _skeletons()
