"""A measurement: every sentence by every system, summed up by syllables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from common.errors import YaoheError
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from distill import evaluate
from distill.judge.client import Heard

SENTENCES = ("欢迎光临。", "今日特价，买一送一。")


class Noter:
    """Listens as told: the right text, or a wrong one for the student."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong = wrong
        self.files: list[Path] = []

    def hear(self, wav: Path) -> Heard:
        self.files.append(wav)
        right = SENTENCES[int(wav.stem) - 1]
        is_student = wav.parent.name.startswith("student")
        return Heard(self.wrong if is_student and self.wrong else right, {"p808": 3.0})


class Whistle:
    """A system that whistles half a second."""

    name = "teacher"
    size = 1000

    def speak(self, text: str, voice: str) -> list[NDArray[np.float32]]:
        return [np.full(6_000, 0.1, np.float32)] * 2


@pytest.fixture(scope="module")
def student() -> evaluate.Learnt:
    return evaluate.Learnt(Speaker(load_pack(starter_directory(), trusted=True)))


def test_every_sentence_is_spoken_by_every_system_and_kept(
    tmp_path: Path, student: evaluate.Learnt
) -> None:
    ear = Noter()
    moved: list[int] = []
    rows = evaluate.measure(
        [Whistle(), student],
        ["woman"],
        SENTENCES,
        tmp_path,
        ear,
        lambda: moved.append(1),
    )
    assert [(row.number, row.system) for row in rows] == [
        (1, "teacher"),
        (1, "student"),
        (2, "teacher"),
        (2, "student"),
    ]
    assert len(moved) == 4
    for row, file in zip(rows, ear.files, strict=True):
        sound, rate = soundfile.read(file)
        assert rate == 24_000
        assert len(sound) / rate == pytest.approx(row.seconds, abs=1e-3)
        assert 0 < row.first_s <= row.wall_s


def test_the_summary_weighs_by_syllables_and_names_the_size(
    tmp_path: Path, student: evaluate.Learnt
) -> None:
    rows = evaluate.measure(
        [Whistle(), student], ["woman"], SENTENCES, tmp_path, Noter("欢迎")
    )
    sizes = {"teacher": 1000, "student": student.size}
    teacher, learnt = evaluate.summary(rows, sizes)
    assert (teacher["syllable_error"], teacher["seconds"]) == (0.0, 1.0)
    # 2 of 4 syllables missing, then 8 wrong of 8.
    assert learnt["syllable_error"] == pytest.approx(10 / 12, abs=1e-4)
    assert learnt["bytes"] == student.size > 1_000_000
    assert learnt["dnsmos_p808"] == 3.0
    assert list(teacher) == list(learnt)


def test_the_result_is_json_with_rows_systems_and_the_machine(
    tmp_path: Path, student: evaluate.Learnt
) -> None:
    rows = evaluate.measure([student], ["woman"], SENTENCES, tmp_path, Noter())
    evaluate.write_result(
        tmp_path, rows, {"student": student.size}, {"held": "signage"}
    )
    result = json.loads((tmp_path / evaluate.RESULT).read_text("utf-8"))
    assert result["held"] == "signage"
    assert len(result["rows"]) == 2
    assert result["rows"][1]["heard"] == SENTENCES[1]
    assert result["machine"]["cpus"] >= 1
    assert [line["system"] for line in result["systems"]] == ["student"]


def test_a_system_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    class Mute(Whistle):
        def speak(self, text: str, voice: str) -> list[NDArray[np.float32]]:
            return []

    with pytest.raises(YaoheError, match="says nothing"):
        evaluate.measure([Mute()], ["woman"], SENTENCES, tmp_path, Noter())
