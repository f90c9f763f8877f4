"""Word lists: Mandarin from jieba's dictionary (used as data), English from our own."""

from __future__ import annotations

import importlib.util
import re
from functools import lru_cache
from pathlib import Path

from common.errors import YaoheError

LEAST_FREQUENCY = 30
"""Words that jieba counted less often are left out: names, typing errors."""
_WORD = re.compile(r"[\u4e00-\u9fff]{2,4}")


@lru_cache(maxsize=1)
def mandarin_words() -> tuple[str, ...]:
    """Words of two to four characters, in the dictionary's order.

    Returns:
        About 60,000 words.

    Raises:
        YaoheError: ``not_ready`` where the dictionary is not installed.
    """
    # Found without importing the package: only its dictionary is wanted.
    spec = importlib.util.find_spec("jieba")
    if spec is None or not spec.submodule_search_locations:
        raise YaoheError(
            "not_ready", "jieba's dictionary is missing; install the extra distill"
        )
    path = Path(spec.submodule_search_locations[0]) / "dict.txt"
    words = []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, frequency = line.split(" ")[:2]
        if int(frequency) >= LEAST_FREQUENCY and _WORD.fullmatch(word):
            words.append(word)
    return tuple(words)


@lru_cache(maxsize=1)
def english_words() -> dict[str, tuple[str, ...]]:
    """English words and their syllables in ARPAbet."""
    path = Path(__file__).with_name("english.tsv")
    words = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, syllables = line.split("\t")
            words[word] = tuple(syllables.split(" "))
    return words
