"""Dialect packs: a table of contours on the weights of another pack."""

from __future__ import annotations

import gc
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import YaoheError
from common.text import read
from common.voice.bases import Bases, among
from common.voice.golden import check_golden
from common.voice.pack import (
    Pack,
    dialect_directories,
    load_pack,
    pack_of,
    starter_directory,
)
from common.voice.speak import Speaker

SMALL = 300_000
"""Most bytes of a dialect pack."""
TEXT = "今日特价，新鲜草莓每斤九块九。"


@pytest.fixture(scope="module")
def bases() -> Bases:
    return Bases(among([starter_directory()]))


def pack(directory: Path) -> Pack:
    return load_pack(directory, trusted=True)


def edited(
    source: Path, folder: Path, change: Callable[[dict[str, Any]], object]
) -> Path:
    """A copy of a pack whose manifest says something else."""
    shutil.copytree(source, folder)
    path = folder / "manifest.json"
    values = json.loads(path.read_text("utf-8"))
    change(values)
    path.write_text(json.dumps(values), "utf-8")
    return folder


def sound(speaker: Speaker, dialect: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    symbols = read(TEXT, dialect).symbols
    return np.concatenate(list(speaker.speak(symbols, voice="woman", dialect=dialect)))


def test_a_bare_box_has_two_dialects_and_they_stand_on_its_starter() -> None:
    starter = pack_of(starter_directory())
    assert {at.name for at in dialect_directories()} == {"gd", "sc"}
    for directory in dialect_directories():
        made = pack(directory)
        assert made.base == starter, "cut the dialect packs again: the starter changed"
        assert made.manifest.dialects == [directory.name]
        assert made.manifest.golden
        size = sum(path.stat().st_size for path in directory.iterdir())
        assert size < SMALL


@pytest.mark.parametrize("dialect", ["sc", "gd"])
def test_a_shipped_dialect_speaks_its_golden_phrases(
    bases: Bases, dialect: str
) -> None:
    directory = starter_directory().parent / "dialects" / dialect
    check_golden(bases.speaker(pack(directory)))


def test_weights_are_loaded_once_and_shared(bases: Bases) -> None:
    starter = bases.speaker(pack(starter_directory()))
    chengdu, cantonese = (bases.speaker(pack(at)) for at in dialect_directories())
    assert bases.speaker(pack(starter_directory())) is starter
    assert chengdu._networks is cantonese._networks is starter._networks


def test_what_nobody_speaks_with_is_let_go() -> None:
    own = Bases(among([starter_directory()]))
    chengdu = own.speaker(pack(dialect_directories()[0]))
    gc.collect()
    assert len(own._loaded) == 2
    del chengdu
    gc.collect()
    assert not own._loaded


def test_the_table_decides_how_the_same_symbols_sound(
    bases: Bases, tmp_path: Path
) -> None:
    source = starter_directory().parent / "dialects" / "sc"
    table = json.loads((source / "contours.json").read_text("utf-8"))
    for tone in table["dialects"]["sc"]["tones"].values():
        tone["anywhere"] = tone["last"] = tone["first"] = [50, 50, 50]

    def take(values: dict[str, Any]) -> None:
        data = json.dumps(table).encode()
        (tmp_path / "flat" / "contours.json").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        values["files"]["contours.json"] = {"sha256": digest, "size": len(data)}

    flat = bases.speaker(pack(edited(source, tmp_path / "flat", take)))
    shipped = bases.speaker(pack(source))
    one, other = sound(shipped, "sc"), sound(flat, "sc")
    assert one.size != other.size or np.abs(one - other).max() > 0.05
    # Mandarin on the same weights is untouched by either.
    starter = bases.speaker(pack(starter_directory()))
    alone = Speaker(pack(starter_directory()))
    assert np.array_equal(sound(starter, "zh"), sound(alone, "zh"))


@pytest.mark.parametrize("dialect", ["sc", "gd"])
def test_a_pack_holds_its_own_voice_to_its_line(
    bases: Bases, tmp_path: Path, dialect: str
) -> None:
    (shipped,) = [d for d in dialect_directories() if d.name == dialect]

    def held(hold: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        values = json.loads((shipped / "contours.json").read_text("utf-8"))
        values["dialects"][dialect]["scales"]["woman"]["hold"] = hold
        table = json.dumps(values).encode()
        folder = edited(
            shipped,
            tmp_path / str(hold),
            lambda m: m["files"].update(
                {
                    "contours.json": {
                        "sha256": hashlib.sha256(table).hexdigest(),
                        "size": len(table),
                    }
                }
            ),
        )
        (folder / "contours.json").write_bytes(table)
        return sound(bases.speaker(pack(folder)), dialect)

    as_shipped = sound(bases.speaker(pack(shipped)), dialect)
    assert np.array_equal(held(700), as_shipped)
    assert not np.array_equal(held(0), as_shipped)


def test_places_of_clauses_are_those_of_the_sound(bases: Bases) -> None:
    speaker = bases.speaker(pack(starter_directory().parent / "dialects" / "gd"))
    symbols = read("十月十日，八折。", "gd").symbols
    ends = speaker.clause_ends(symbols, voice="woman", dialect="gd")
    whole = np.concatenate(list(speaker.speak(symbols, voice="woman", dialect="gd")))
    assert 0 < ends[0][1] < ends[-1][1] <= whole.size
    assert symbols[ends[0][0] - 1].name == ","


def test_without_its_base_a_dialect_pack_is_refused_by_name() -> None:
    with pytest.raises(
        YaoheError, match=r"yaohe-woman-gd@.* stands on pack"
    ) as refused:
        Bases(among([])).speaker(pack(dialect_directories()[0]))
    assert refused.value.code == "pack_invalid"
    assert refused.value.data == {"reason": "base_missing"}
    with pytest.raises(YaoheError, match="stands on pack"):
        Speaker(pack(dialect_directories()[0]))


def test_another_pack_is_no_base(bases: Bases, tmp_path: Path) -> None:
    folder = edited(
        starter_directory(), tmp_path / "other", lambda v: v.update(version="9.9.9")
    )
    other = bases.speaker(pack(folder))
    with pytest.raises(YaoheError, match="stands on pack"):
        Speaker(pack(dialect_directories()[0]), base=other)


def test_a_dialect_pack_is_nothing_to_stand_on(bases: Bases, tmp_path: Path) -> None:
    source = dialect_directories()[0]
    digest = pack_of(source)
    folder = edited(
        source, tmp_path / "tower", lambda v: v.update(requires={"acoustic": digest})
    )
    with pytest.raises(YaoheError, match="stands on pack"):
        Bases(among([source, starter_directory()])).speaker(pack(folder))
    with pytest.raises(YaoheError, match="no weights to stand on"):
        Speaker(pack(folder), base=bases.speaker(pack(source)))


def test_a_voice_that_the_base_lacks_is_refused(bases: Bases, tmp_path: Path) -> None:
    source = dialect_directories()[0]

    def rename(values: dict[str, Any]) -> None:
        values |= {"voices": {"child": {"speaker": 0}}, "golden": []}

    folder = edited(source, tmp_path / "child", rename)
    with pytest.raises(YaoheError, match="no such voice child"):
        bases.speaker(pack(folder))


def test_a_table_without_the_dialect_of_the_pack_is_refused(
    bases: Bases, tmp_path: Path
) -> None:
    source = dialect_directories()[0]

    def more(values: dict[str, Any]) -> None:
        values["dialects"].append("zz")

    folder = edited(source, tmp_path / "more", more)
    with pytest.raises(YaoheError, match="no contours for zz"):
        bases.speaker(pack(folder))


def with_words(values: dict[str, Any], folder: Path, text: bytes) -> None:
    """Put a lexicon into a pack."""
    (folder / "lexicon.tsv").write_bytes(text)
    digest = hashlib.sha256(text).hexdigest()
    values["files"]["lexicon.tsv"] = {"sha256": digest, "size": len(text)}
    values |= {"lexicon": "lexicon.tsv", "golden": []}


def test_a_pack_brings_words_of_its_own_for_its_own_dialects(
    bases: Bases, tmp_path: Path
) -> None:
    source = starter_directory().parent / "dialects" / "sc"
    text = "盖碗\tgai4 wan3\tsc\n盖碗\tgoi3 wun2\tgd\n".encode()
    folder = tmp_path / "words"
    made = pack(edited(source, folder, lambda v: with_words(v, folder, text)))
    lexicon = bases.speaker(made).lexicon
    assert list(lexicon.words) == ["sc"]
    assert read("盖碗", "sc", lexicon=lexicon).syllables == ("gai4", "wan3")


@pytest.mark.parametrize(
    "text", [b"one field", b"\xff\xfe", "盖\tthis is none".encode()]
)
def test_a_lexicon_that_is_none_is_refused(
    bases: Bases, tmp_path: Path, text: bytes
) -> None:
    source = starter_directory().parent / "dialects" / "sc"
    folder = tmp_path / "words"
    made = pack(edited(source, folder, lambda v: with_words(v, folder, text)))
    with pytest.raises(YaoheError, match="yaohe-woman-sc") as refused:
        bases.speaker(made)
    assert refused.value.code == "pack_invalid"
