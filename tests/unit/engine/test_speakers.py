"""Speakers: their text form both ways, voices in a folder, nothing else is taken."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.engine.chattts import base16384, speakers
from common.errors import YaoheError

HIDDEN = 64
MEAN = np.linspace(-1, 1, HIDDEN, dtype=np.float32)
SPREAD = np.linspace(1, 4, HIDDEN, dtype=np.float32)
ANNA = speakers.drawn(1, MEAN, SPREAD)
# Eight half floats from 0.5 to 4, as the ChatTTS package writes them.
PACKAGE_TEXT = "乀仰仠丼丏渄丁伀庀到伐一㴆"


def packed(raw: bytes) -> str:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1}]
    return base16384.encode(lzma.compress(raw, lzma.FORMAT_RAW, filters=filters))


@given(st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_speaker_is_read_back_as_it_was_written(numbers: list[float]) -> None:
    vector = np.array([*numbers, 1.0], np.float32)
    read = speakers.read(speakers.write(vector), len(vector))
    np.testing.assert_array_equal(read, vector)
    assert read.dtype == np.float32


def test_what_the_package_wrote_is_read_and_written_alike() -> None:
    vector = speakers.read(PACKAGE_TEXT, 8)
    np.testing.assert_array_equal(vector, np.arange(1, 9) / 2)
    assert speakers.write(vector) == PACKAGE_TEXT


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(YaoheError, match="text"):
        speakers.read(text, HIDDEN)


@given(st.binary(max_size=80))
def test_any_bytes_in_base16384_are_read_or_refused(raw: bytes) -> None:
    with pytest.raises(YaoheError, match="text"):
        speakers.read(base16384.encode(raw), HIDDEN)


@given(st.data())
def test_a_text_with_a_few_wrong_characters_is_a_speaker_or_refused(
    data: st.DataObject,
) -> None:
    text = list(speakers.write(ANNA))
    alphabet = st.characters(min_codepoint=0x3D00, max_codepoint=0x8E00)
    for place in data.draw(st.lists(st.integers(0, len(text) - 1), max_size=4)):
        text[place] = data.draw(alphabet)
    try:
        vector = speakers.read("".join(text), HIDDEN)
    except YaoheError:
        return
    assert vector.shape == (HIDDEN,)
    assert np.isfinite(vector).all()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (bytes(2 * HIDDEN), "holds no direction"),
        (np.full(HIDDEN, np.nan, "<f2").tobytes(), "holds no direction"),
        (np.full(HIDDEN, np.inf, "<f2").tobytes(), "holds no direction"),
        (np.ones(HIDDEN - 1, "<f2").tobytes(), "does not hold 64"),
        (np.ones(HIDDEN + 1, "<f2").tobytes(), "does not hold 64"),
        (b"", "does not hold 64"),
        (b"\x01" * (1 << 24), "does not hold 64"),
    ],
)
def test_a_text_that_holds_something_else_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(YaoheError, match=message):
        speakers.read(packed(raw), HIDDEN)


def test_a_text_that_goes_on_after_its_speaker_is_refused() -> None:
    whole = base16384.decode(speakers.write(ANNA))
    with pytest.raises(YaoheError, match="does not hold 64"):
        speakers.read(base16384.encode(whole + b"more"), HIDDEN)
    with pytest.raises(YaoheError, match=r"is broken|does not hold 64"):
        speakers.read(base16384.encode(whole[:-3]), HIDDEN)
    with pytest.raises(YaoheError, match="more than 8192"):
        speakers.read("一" * 8193, HIDDEN)


def test_the_same_seed_gives_the_same_speaker() -> None:
    np.testing.assert_array_equal(speakers.drawn(1, MEAN, SPREAD), ANNA)
    assert not np.array_equal(speakers.drawn(2, MEAN, SPREAD), ANNA)
    np.testing.assert_array_equal(speakers.read(speakers.write(ANNA), HIDDEN), ANNA)


def test_random_speakers_have_the_models_mean_and_spread() -> None:
    many = np.stack([speakers.drawn(seed, MEAN, SPREAD) for seed in range(2000)])
    np.testing.assert_allclose(many.mean(0), MEAN, atol=0.4)
    np.testing.assert_allclose(many.std(0), SPREAD, rtol=0.1)


def test_a_folder_is_voices_and_their_dialects(tmp_path: Path) -> None:
    (tmp_path / "bo.txt").write_text("seed 42\n", "utf-8")
    (tmp_path / "anna.gd.txt").write_text("seed 7", "utf-8")
    (tmp_path / "anna.txt").write_text(speakers.write(ANNA) + "\n", "utf-8")
    (tmp_path / "readme.md").write_text("not a voice", "utf-8")
    found = speakers.load(tmp_path, HIDDEN, (MEAN, SPREAD))
    assert found.repertoire == {"anna": ("zh", "gd"), "bo": ("zh",)}
    np.testing.assert_array_equal(found.vectors["anna", "zh"], ANNA)
    drawn = speakers.drawn(42, MEAN, SPREAD)
    np.testing.assert_array_equal(found.vectors["bo", "zh"], drawn)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("anna b.txt", b"seed 1", r"anna b\.txt is named neither"),
        ("anna.zh.txt", b"seed 1", "a second file for anna in zh"),
        ("bo.txt", b"hello", r"bo\.txt holds no speaker: the text form"),
        ("bo.txt", b"\xff", r"bo\.txt is no UTF-8"),
        ("bo.txt", b"", r"bo\.txt holds no speaker"),
        ("bo.txt", b"seed -1", r"bo\.txt holds no speaker"),
    ],
)
def test_a_file_that_is_no_voice_is_named(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / "anna.txt").write_text("seed 1", "utf-8")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(YaoheError, match=message) as raised:
        speakers.load(tmp_path, HIDDEN, (MEAN, SPREAD))
    assert raised.value.code == "pack_invalid"


def test_a_folder_without_a_voice_or_a_seed_without_assets_is_an_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(YaoheError, match="holds no voice"):
        speakers.load(tmp_path, HIDDEN)
    (tmp_path / "anna.txt").write_text("seed 1", "utf-8")
    with pytest.raises(YaoheError, match="asks for a random speaker"):
        speakers.load(tmp_path, HIDDEN)
