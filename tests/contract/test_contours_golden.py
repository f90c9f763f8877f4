"""A dialect's table keeps its meaning: packs in the field hold it."""

from __future__ import annotations

from pathlib import Path

from common.protocol.contours import parse_contours
from common.text import read
from common.voice.accent import Accent

DATA = (Path(__file__).parent / "golden" / "contours.json").read_bytes()


def test_a_table_is_understood() -> None:
    (name, table), *others = parse_contours(DATA).dialects.items()
    assert (name, others) == ("gd", [])
    assert table.tones["1"].first == [52, 52, 50]
    assert table.tones["2"].after["4"] == [20, 28, 44]
    assert table.segments == {"ɵ": "œ", "-k": "-t"}
    assert table.checked == 1250


def test_what_the_weights_are_given_stands() -> None:
    table = parse_contours(DATA).dialects["gd"]
    said = Accent("gd", table).spoken(read("春天好，得闲。", "gd").symbols)
    assert [(s.name, *s[1:4], s.speed) for s in said if s.has_tone] == [
        ("tsʰ", 52, 52, 50, 1000),
        ("œ", 52, 52, 50, 1000),
        ("-n", 52, 52, 50, 1000),
        ("tʰ", 50, 50, 48, 1000),
        ("i", 50, 50, 48, 1000),
        ("-n", 50, 50, 48, 1000),
        ("h", 26, 32, 46, 1000),
        ("ɔ", 26, 32, 46, 1000),
        ("-u", 26, 32, 46, 1000),
        ("t", 52, 52, 50, 1250),
        ("ɐ", 52, 52, 50, 1250),
        ("-t", 52, 52, 50, 1250),
        ("h", 20, 14, 11, 1000),
        ("aː", 20, 14, 11, 1000),
        ("-n", 20, 14, 11, 1000),
    ]
