"""Every row of the reading cases: spoken forms, pinyin, jyutping and Chengdu."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from common.text import read

CASES = Path(__file__).parents[1] / "cases"


def _rows(*names: str) -> list[Any]:
    lines = (
        line
        for name in names
        for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()
    )
    rows = (json.loads(line) for line in lines)
    return [pytest.param(row, id=row["id"]) for row in rows]


def _heard(text: str) -> str:
    """What two spoken forms must share: letters and digits, widths unified."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(c for c in folded if unicodedata.category(c)[0] in "LN")


def _fits(syllables: tuple[str, ...], accepted: list[list[str]]) -> bool:
    return len(syllables) == len(accepted) and all(
        syllable in options
        for syllable, options in zip(syllables, accepted, strict=True)
    )


@pytest.mark.parametrize("row", _rows("frontend/tn", "own/tn-before", "own/tn-after"))
def test_spoken_form_is_one_of_the_accepted(row: dict[str, Any]) -> None:
    reading = read(row["text"])
    assert not reading.unread
    assert _heard(reading.spoken) in {_heard(form) for form in row["spoken"]}


@pytest.mark.parametrize(
    "row", _rows("frontend/pinyin", "own/pinyin-before", "own/pinyin-after")
)
def test_mandarin_is_read_right_before_and_after_sandhi(row: dict[str, Any]) -> None:
    reading = read(row["text"])
    assert not reading.unread
    assert _fits(reading.surface, row["surface"])
    if "citation" in row:
        assert _fits(reading.syllables, row["citation"])


@pytest.mark.parametrize(
    "row", _rows("frontend/jyutping", "own/jyutping-before", "own/jyutping-after")
)
def test_cantonese_is_read_right(row: dict[str, Any]) -> None:
    reading = read(row["text"], "gd")
    assert not reading.unread
    # The rows list Chinese syllables only; Latin words and letters stand beside them.
    chinese = tuple(s for s in reading.syllables if s[0].islower())
    assert any(_fits(chinese, accepted) for accepted in row["accept"])


@pytest.mark.parametrize(
    "row", _rows("frontend/sichuan", "own/sichuan-before", "own/sichuan-after")
)
def test_chengdu_is_read_right(row: dict[str, Any]) -> None:
    reading = read(row["text"], "sc")
    assert not reading.unread
    assert _fits(reading.syllables, row["accept"])
