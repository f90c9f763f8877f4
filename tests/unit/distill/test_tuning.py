"""A dialect's voices are held to its contours no more firmly than they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.errors import YaoheError
from common.protocol.contours import Dialect, Scale, parse_contours
from common.text.contours import contour
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from distill import packer, tuning

pytest.importorskip("jieba", reason="its dictionary comes with the extra distill")

OTHER = Scale(middle=-900, step=150, fall=0, drop=0, hold=300)


@pytest.fixture(scope="module")
def woman() -> Speaker:
    return Speaker(load_pack(starter_directory(), trusted=True), provider="cpu")


def plain(dialect: str) -> Dialect:
    """A table that asks for just what is meant."""
    tones = {
        str(tone): {"anywhere": list(contour(dialect, tone)[0])}
        for tone in (1, 2, 3, 4)
    }
    return Dialect.model_validate({"tones": tones, "scales": {"man": OTHER}})


def test_tones_are_told_apart_afterwards(woman: Speaker) -> None:
    done: list[tuning.Tuned] = []
    tuned = tuning.tune(
        woman.networks,
        {"woman": 0},
        "sc",
        plain("sc"),
        tuning.sentences_of(5, "sc", 40),
        done.append,
    )
    ((voice, before, after),) = done
    assert voice == "woman"
    assert after.nearest > before.nearest + 0.15
    assert after.correlation > before.correlation + 0.1
    assert tuned.scales["man"] == OTHER
    assert tuned.scales["woman"].hold == tuning.HOLD
    assert tuned.tones == plain("sc").tones


def test_the_line_is_the_voices_own(woman: Speaker) -> None:
    """A woman's lies around 200 Hz, falls within a phrase and from one to the next."""
    sentences = tuning.sentences_of(6, "gd", 40)
    tuned = tuning.tune(woman.networks, {"woman": 0}, "gd", plain("gd"), sentences)
    line = tuned.scales["woman"]
    assert -200 < line.middle < 700
    assert 120 < line.step < 300
    assert line.fall < 0
    assert line.drop < 0


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
