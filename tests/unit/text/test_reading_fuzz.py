"""A bounded fuzz of the reader: cases, cut and mixed at random, keep every promise."""

from __future__ import annotations

import os
import random
import time

import pytest

from common.text import read
from tests.tools.reading import DIALECT_OF, KINDS, check_promises, rows

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
SEED = 20261130
NOISE = "0123456789.,:/-~～%¥$+=<>&#@*()[]{}|^_ \n\t第折元号楼月日年点AaXx℃㎡Ⅱ①½²🔥\u200b\ud800𠮷"


def _mutant(random_: random.Random, texts: list[str]) -> str:
    """Two cases cut and joined, with noise let in."""
    one, two = random_.choice(texts), random_.choice(texts)
    text = one[: random_.randint(0, len(one))] + two[random_.randint(0, len(two)) :]
    for _ in range(random_.randint(0, 4)):
        place = random_.randint(0, len(text))
        text = text[:place] + random_.choice(NOISE) + text[place:]
    return text


@pytest.mark.slow
def test_mutated_cases_keep_every_promise() -> None:
    random_ = random.Random(SEED)
    texts = [row["text"] for kind in KINDS for row in rows(f"frontend/{kind}")]
    end = time.monotonic() + SECONDS
    tried = 0
    while time.monotonic() < end:
        text = _mutant(random_, texts)
        dialect = random_.choice(sorted(set(DIALECT_OF.values())))
        check_promises(read(text, dialect))
        tried += 1
    assert tried > 0
