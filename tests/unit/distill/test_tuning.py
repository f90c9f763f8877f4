"""A dialect's table is moved until weights that smooth sing what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import YaoheError
from common.protocol.contours import Dialect, parse_contours
from common.text.contours import contour
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from distill import packer, tuning

pytest.importorskip("jieba", reason="its dictionary comes with the extra distill")


@pytest.fixture(scope="module")
def woman() -> Speaker:
    return Speaker(load_pack(starter_directory(), trusted=True), provider="cpu")


def plain(dialect: str) -> Dialect:
    """A table that asks for just what is meant."""
    tones = {
        str(tone): {"anywhere": list(contour(dialect, tone)[0])}
        for tone in (1, 2, 3, 4)
    }
    return Dialect.model_validate({"tones": tones})


def test_more_tones_are_told_apart_afterwards(woman: Speaker) -> None:
    rounds: list[tuning.Round] = []
    best = tuning.tune(
        woman.networks,
        {"woman": 0},
        "sc",
        plain("sc"),
        tuning.sentences_of(5, "sc", 40),
        lambda number, done: rounds.append(done),
    )
    assert rounds[0].table == plain("sc")
    assert best.merit == max(done.merit for done in rounds)
    assert best.merit > rounds[0].merit + 0.05


def test_a_place_with_few_syllables_keeps_its_entry(woman: Speaker) -> None:
    before = plain("sc")
    sentences = tuning.sentences_of(5, "sc", 1)
    done = tuning.tune(woman.networks, {"woman": 0}, "sc", before, sentences)
    assert done.table == before


def test_the_same_seed_tunes_on_the_same_sentences() -> None:
    first, again = (tuning.sentences_of(9, "gd", 30) for _ in range(2))
    assert first == again
    assert tuning.sentences_of(10, "gd", 30) != first


def test_a_written_table_is_read_back(tmp_path: Path) -> None:
    for dialect in ("sc", "gd"):
        table = packer.read_table(dialect)
        assert parse_contours(tuning.table_bytes(table)) == table


def test_an_unknown_dialect_has_no_table() -> None:
    with pytest.raises(YaoheError, match="no table"):
        packer.read_table("xx")
