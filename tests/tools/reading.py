"""What tests, fuzzing, benchmark and comparison of the reading share: cases, checks."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from common.text import Reading
from common.text.receipt import UNREAD_RULE

CASES = Path(__file__).parents[1] / "cases"
KINDS = ("tn", "pinyin", "jyutping", "sichuan")
DIALECT_OF = {"tn": "zh", "pinyin": "zh", "jyutping": "gd", "sichuan": "sc"}


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Rows of a case file.

    Args:
        name: Such as ``frontend/tn``.

    Yields:
        Its rows.
    """
    for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


def heard(text: str) -> str:
    """What two spoken forms must share: letters and digits, widths unified."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(c for c in folded if unicodedata.category(c)[0] in "LN")


def fits(syllables: tuple[str, ...], accepted: list[list[str]]) -> bool:
    """Whether every syllable is among those accepted at its place."""
    return len(syllables) == len(accepted) and all(
        syllable in options
        for syllable, options in zip(syllables, accepted, strict=True)
    )


def is_right(reading: Reading, row: dict[str, Any], kind: str) -> bool:
    """Whether a reading is one that a case row accepts.

    Args:
        reading: The reading of the row's text.
        row: The row.
        kind: Which of :data:`KINDS` it belongs to.

    Returns:
        True if it is right and nothing is unread.
    """
    if reading.unread:
        return False
    if kind == "tn":
        return heard(reading.spoken) in {heard(form) for form in row["spoken"]}
    if kind == "pinyin":
        citation = row.get("citation")
        return fits(reading.surface, row["surface"]) and (
            citation is None or fits(reading.syllables, citation)
        )
    if kind == "sichuan":
        return fits(reading.syllables, row["accept"])
    # The rows list Chinese syllables only; Latin words and letters stand beside them.
    chinese = tuple(s for s in reading.syllables if s[0].islower())
    return any(fits(chinese, accepted) for accepted in row["accept"])


def check_promises(reading: Reading) -> None:
    """Raise if a reading breaks a promise that holds for every text.

    Args:
        reading: Any reading.

    Raises:
        AssertionError: A promise is broken.
    """
    place = first = 0
    for span in reading.spans:
        assert span.start == place < span.end
        assert span.text == reading.text[span.start : span.end]
        assert span.first == first
        silent = span.rule.startswith("silent.")
        assert span.spoken or silent or span.rule in (UNREAD_RULE, "word.erhua")
        assert not (silent and span.count)
        place, first = span.end, first + span.count
    assert place == len(reading.text)
    assert first == len(reading.syllables) == len(reading.surface)
    gaps = [(gap.start, gap.end) for gap in reading.unread]
    assert gaps == [(s.start, s.end) for s in reading.spans if s.rule == UNREAD_RULE]
    pauses = [unit.is_pause for unit in reading.units]
    assert not any(one and two for one, two in pairwise(pauses))
    assert not pauses or not pauses[0]
    spoken = [unit.value for unit in reading.units if not unit.is_pause]
    assert spoken == list(reading.surface)
