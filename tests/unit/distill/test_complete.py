"""A teacher that tells nothing but sound: pitch and durations are found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from common.text.symbols import Symbol
from distill.corpus import build, complete, ledger
from distill.teacher.base import UNIT_SAMPLES, Lesson
from tests.unit.distill.test_corpus import Hum, plug, recipe

pytest.importorskip("jieba", reason="its dictionary comes with the extra distill")


class Mute(Hum):
    """Hums like the other, and tells neither how long nor how high."""

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        lesson = super().speak(symbols, voice, speed, text=text)
        return Lesson(lesson.audio[:-17])


def test_a_lesson_gets_its_pitch_and_whole_units() -> None:
    turns = np.arange(24_017) * (220 / 24_000)
    told = Lesson((0.3 * np.sin(2 * np.pi * turns)).astype(np.float32))
    lesson = complete.completed(told)
    assert lesson.audio.size % UNIT_SAMPLES == 0
    assert lesson.pitch_hz is not None
    assert len(lesson.pitch_hz) * 300 == lesson.audio.size
    assert np.median(lesson.pitch_hz) == pytest.approx(220, rel=0.01)
    assert lesson.durations is None


def test_what_a_teacher_tells_is_kept() -> None:
    pitch = np.full(4, 111.0, np.float32)
    told = Lesson(np.zeros(1200, np.float32), np.array([1, 1]), pitch)
    assert complete.completed(told) == told
    assert complete.completed(replace(told, durations=None)).pitch_hz is pitch


def test_a_corpus_is_aligned_once_all_is_said(tmp_path: Path) -> None:
    manifest = build.build(tmp_path, recipe(), plug(Mute()))
    rows = list(ledger.rows(tmp_path))
    assert manifest["aligned"]["sentences"] == len(rows) == 12
    assert manifest["aligned"]["too_short"] == 0
    aligned = complete.read_alignment(tmp_path)
    for row in rows:
        path = ledger.file_of(tmp_path, row["id"])
        assert not complete.has_durations(path)
        with np.load(path) as file:
            audio, sym = file["audio"], file["sym"]
        units = aligned[row["id"]]
        assert len(units) == len(sym)
        assert units.sum() * UNIT_SAMPLES == len(audio)


def test_an_interrupted_corpus_is_aligned_the_same(tmp_path: Path) -> None:
    whole = build.build(tmp_path / "whole", recipe(), plug(Mute()))
    with pytest.raises(KeyboardInterrupt):
        build.build(tmp_path / "cut", recipe(), plug(Mute(stops_after=5)))
    assert not complete.read_alignment(tmp_path / "cut")
    again = build.build(tmp_path / "cut", recipe(), plug(Mute()))
    assert again["aligned"] == whole["aligned"]


def test_a_teacher_that_tells_all_needs_no_aligner(tmp_path: Path) -> None:
    manifest = build.build(tmp_path, recipe(), plug(Hum()))
    assert "aligned" not in manifest
    assert not (tmp_path / complete.ALIGNMENT).exists()


@pytest.mark.slow
def test_training_waits_for_the_alignment_and_takes_it(tmp_path: Path) -> None:
    from distill.corpus.dataset import Dataset

    slots = {"zf_xiaoxiao": 0, "zm_yunjian": 1}
    with pytest.raises(KeyboardInterrupt):
        build.build(tmp_path, recipe(), plug(Mute(stops_after=5)))
    data = Dataset(tmp_path, slots)
    assert not data.train
    build.build(tmp_path, recipe(), plug(Mute()))
    assert data.refresh() == 12
    for item in (*data.train, *data.unseen):
        assert int(item.durations.sum()) == item.frames
