"""The symbol table is frozen: weights and phrase keys stand on its numbers."""

from __future__ import annotations

import json
from pathlib import Path

from common.text import symbols

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "symbols.json").read_text("utf-8")
)


def test_every_symbol_keeps_its_number() -> None:
    assert list(symbols.SYMBOLS) == GOLDEN["symbols"]
    assert GOLDEN["version"] == symbols.TABLE_VERSION


def test_models_keep_their_shapes() -> None:
    assert GOLDEN["rows"] == symbols.TABLE_SIZE
    assert GOLDEN["speaker_slots"] == symbols.SPEAKER_SLOTS
    assert list(symbols.DIALECTS) == GOLDEN["dialects"]


def test_a_symbol_keeps_its_fields_in_order() -> None:
    assert list(symbols.Symbol._fields) == GOLDEN["fields"]
