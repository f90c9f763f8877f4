"""Our symbols in Kokoro's alphabet."""

from __future__ import annotations

from cloud.engine.kokoro.tokens import VOCABULARY, tokens_of
from common.text.receipt import Unit
from common.text.symbols import DIALECTS, IDS, SYMBOLS, Symbol
from common.text.voicing import symbols_of

NAMES = {number: character for character, number in VOCABULARY.items()}


def spelled(*values: str, language: str = "zh") -> str:
    units = [Unit(value, language) for value in values]  # type: ignore[arg-type]
    return "".join(NAMES[number] for number in tokens_of(symbols_of(units)).ids)


def test_mandarin_is_spelled_as_the_model_was_taught() -> None:
    assert spelled("jin1") == "ʨi→n"
    assert spelled("cao3") == "ʦʰau↓"
    assert spelled("mei2") == "mei↗"
    assert spelled("zhuang4") == "ꭧwa↘ŋ"


def test_a_neutral_tone_has_no_arrow() -> None:
    assert spelled("de5") == "tɤ"


def test_english_carries_its_stress() -> None:
    assert spelled("L.AA1", "T.EY2", language="en") == "lˈɑtˌA"
    assert spelled("P.AH0", language="en") == "pə"


def test_every_symbol_can_be_spelled_in_every_dialect() -> None:
    for name in SYMBOLS:
        for start in (0, 12, 30, 54):
            symbol = Symbol(IDS[name], start, start, start, 2 if start else 0)
            assert all(number in NAMES for number in tokens_of((symbol,)).ids)
    assert DIALECTS


def test_each_token_knows_its_symbol() -> None:
    symbols = symbols_of([Unit("jin1"), Unit("tian1")])
    tokens = tokens_of(symbols)
    assert len(tokens.owner) == len(tokens.ids)
    assert list(tokens.owner) == sorted(tokens.owner)
    assert max(tokens.owner) < len(symbols)
