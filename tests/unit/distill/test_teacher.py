"""Kokoro as a teacher: its tokens' durations become our symbols' durations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cloud.engine.kokoro.model import DURATIONS, F0, Spoken
from cloud.engine.kokoro.tokens import tokens_of
from common.errors import YaoheError
from common.text import read
from common.text.symbols import EOS, WORD, Symbol
from distill.teacher import kokoro
from distill.teacher.base import Lesson

SYMBOLS = read("下午好，VIP朋友们。").symbols


class Counting:
    """Says token k for k + 1 frames; the two ends for 50 and 60."""

    extra_samples = 0

    def speak(
        self, symbols: Sequence[Symbol], voice: str, *, speed: float = 1.0
    ) -> Spoken:
        tokens = tokens_of(symbols)
        frames = np.array([50, *range(1, len(tokens.ids) + 1), 60], np.float32)
        total = int(frames.sum())
        return Spoken(
            np.zeros(total * 600 + self.extra_samples, np.float32),
            tokens,
            {DURATIONS: frames, F0: np.zeros(total * 2, np.float32)},
        )


def lesson(monkeypatch: pytest.MonkeyPatch, model: Counting) -> Lesson:
    monkeypatch.setattr(kokoro, "load", lambda *_, **__: model)
    return kokoro.KokoroTeacher(Path()).speak(SYMBOLS, "zf_xiaoxiao")


def test_a_symbol_lasts_as_long_as_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    durations = lesson(monkeypatch, Counting()).durations
    assert durations is not None
    owner = tokens_of(SYMBOLS).owner
    for index, symbol in enumerate(SYMBOLS[1:-1], start=1):
        wanted = sum(k + 1 for k, of in enumerate(owner) if of == index)
        assert durations[index] == wanted
        assert wanted > 0 or symbol.name == WORD


def test_the_silence_at_the_ends_belongs_to_the_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    durations = lesson(monkeypatch, Counting()).durations
    assert durations is not None
    assert SYMBOLS[-1].name == EOS
    assert (durations[0], durations[-1]) == (50, 60)


def test_durations_that_do_not_add_up_to_the_sound_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Counting()
    model.extra_samples = 1
    with pytest.raises(YaoheError, match="do not add up"):
        lesson(monkeypatch, model)


def test_missing_files_name_the_command_that_brings_them(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="engine fetch kokoro"):
        kokoro.plug(tmp_path).engage()
