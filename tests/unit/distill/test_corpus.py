"""A corpus on disk: resumable after a kill at any place, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from common.errors import YaoheError
from common.protocol.manifest import Teacher as Card
from common.text import read
from common.text.symbols import Symbol
from distill.corpus import build, ledger, quality
from distill.corpus.sentences import TOLD_FROM
from distill.recipe import Recipe
from distill.teacher.base import PITCH_PER_UNIT, UNIT_SAMPLES, Lesson, Plug

pytest.importorskip("jieba", reason="its dictionary comes with the extra distill")


class Hum:
    """A teacher that hums some units for every symbol, each voice at its pitch."""

    def __init__(self, stops_after: int = 1000) -> None:
        self.said: list[str] = []
        self.texts: list[str] = []
        self._left = stops_after

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        self.texts.append(text)
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        self.said.append(voice)
        durations = np.full(len(symbols), round(3 / speed))
        hz = {"zf_xiaoxiao": 220.0, "zm_yunjian": 110.0}[voice]
        turns = np.arange(int(durations.sum()) * UNIT_SAMPLES) * (hz / 24_000)
        audio = (0.3 * np.sin(2 * np.pi * turns)).astype(np.float32)
        return Lesson(audio, durations, self._pitch(durations, hz))

    @staticmethod
    def _pitch(durations: NDArray[np.int64], hz: float) -> NDArray[np.float32]:
        return np.full(int(durations.sum()) * PITCH_PER_UNIT, hz, np.float32)


class Teller(Hum):
    """A hummer that can also tell; every load of it is counted in a file."""

    @classmethod
    def engaged(cls, loads: Path) -> Teller:
        with loads.open("a") as file:
            file.write("loaded\n")
        return cls()

    def tell(self, symbols: Sequence[Symbol], voice: str, speed: float = 1.0) -> Lesson:
        durations = np.full(len(symbols), round(3 / speed))
        return Lesson(np.zeros(0, np.float32), durations, self._pitch(durations, 200.0))


def plug(hum: Hum | Callable[[], Hum]) -> Plug:
    return Plug(
        card=Card(name="hum", licence="none"),
        digests={"hum": "0" * 64},
        size=lambda: 0,
        fetch=lambda _: None,
        engage=hum if callable(hum) else lambda: hum,
    )


def recipe(seed: int = 5, told: int = 0) -> Recipe:
    return Recipe.model_validate(
        {
            "name": "t",
            "seed": seed,
            "voices": {
                "woman": {"teacher": "zf_xiaoxiao", "speaker": 0},
                "man": {"teacher": "zm_yunjian", "speaker": 1},
            },
            "corpus": {"name": "t", "sentences": 12, "least": 0, "told": told},
            "stages": {s: {"steps": 1} for s in ("acoustic", "masks", "joint")},
        }
    )


def test_a_sentence_holds_sound_durations_pitch_and_symbols(tmp_path: Path) -> None:
    build.build(tmp_path, recipe(), plug(Hum()))
    rows = list(ledger.rows(tmp_path))
    assert [row["id"] for row in rows] == list(range(12))
    for row, task in zip(rows, build.plan(recipe()), strict=True):
        with np.load(ledger.file_of(tmp_path, row["id"])) as file:
            audio, dur, f0, sym = (file[k] for k in ("audio", "dur", "f0", "sym"))
            assert float(file["speed"]) == pytest.approx(row["speed"])
        assert (audio.dtype, dur.dtype, f0.dtype) == (np.int16, np.int16, np.float32)
        assert dur.sum() * UNIT_SAMPLES == len(audio) == 300 * len(f0)
        assert [Symbol(*map(int, s)) for s in sym] == list(task.sentence.symbols)
        assert row["text"] == task.sentence.text
        assert row["seconds"] == pytest.approx(len(audio) / 24_000, abs=1e-4)


def test_told_sentences_have_timing_and_pitch_but_no_sound(tmp_path: Path) -> None:
    manifest = build.build(tmp_path, recipe(told=6), plug(Teller()))
    assert manifest["sentences"] == 18
    told = [row for row in ledger.rows(tmp_path) if row["is_told"]]
    assert [row["id"] for row in told] == list(range(TOLD_FROM, TOLD_FROM + 6))
    assert {row["voice"] for row in told} == {"zf_xiaoxiao", "zm_yunjian"}
    for row in told:
        with np.load(ledger.file_of(tmp_path, row["id"])) as file:
            assert "audio" not in file
            assert int(file["dur"].sum()) * PITCH_PER_UNIT == len(file["f0"])
    in_manifest = sum(manifest["told_seconds"].values())
    assert in_manifest == pytest.approx(sum(row["seconds"] for row in told), abs=0.2)


def test_told_sentences_are_others_and_leave_the_spoken_ones_as_they_were() -> None:
    with_told, without = build.plan(recipe(told=6)), build.plan(recipe())
    spoken = [task for task in with_told if not task.is_told]
    assert spoken == without
    told = {task.sentence.text for task in with_told if task.is_told}
    assert told.isdisjoint(task.sentence.text for task in spoken)
    # What was made by a recipe from before stays what this recipe makes.
    assert recipe().corpus_digest != recipe(told=6).corpus_digest


def test_a_teacher_that_cannot_tell_says_so(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="cannot tell"):
        build.build(tmp_path, recipe(told=1), plug(Hum()))


def test_every_worker_loads_its_teacher_once(tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    engage = partial(Teller.engaged, loads)
    manifest = build.build(tmp_path / "c", recipe(told=20), plug(engage), workers=2)
    assert manifest["sentences"] == 32
    assert loads.read_text().count("loaded") <= 2


def test_some_sentences_are_spoken_slower_or_faster() -> None:
    values = recipe().model_dump(mode="json")
    values["corpus"] |= {
        "sentences": 200,
        "pace": {"share": 0.3, "slowest": 0.8, "fastest": 1.2},
    }
    speeds = [task.speed for task in build.plan(Recipe.model_validate(values))]
    others = [speed for speed in speeds if speed != 1.0]
    assert 0.2 < len(others) / len(speeds) < 0.4
    assert 0.8 <= min(others) < 1 < max(others) <= 1.2


def test_voices_take_turns_and_the_manifest_counts_them(tmp_path: Path) -> None:
    hum = Hum()
    manifest = build.build(tmp_path, recipe(), plug(hum))
    assert hum.said.count("zf_xiaoxiao") == hum.said.count("zm_yunjian") == 6
    assert hum.texts == [task.sentence.text for task in build.plan(recipe())]
    assert manifest["sentences"] == 12
    assert set(manifest["seconds"]) == {"zf_xiaoxiao", "zm_yunjian"}
    assert manifest["teacher"]["name"] == "hum"
    assert manifest["recipe_sha256"] == recipe().corpus_digest
    assert manifest["foreign_sentences"] == 0


@pytest.mark.parametrize("after", [0, 1, 5, 11])
def test_an_interrupted_corpus_goes_on_and_ends_up_the_same(
    tmp_path: Path, after: int
) -> None:
    whole = build.build(tmp_path / "whole", recipe(), plug(Hum()))
    folder = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        build.build(folder, recipe(), plug(Hum(stops_after=after)))
    assert not build.is_built(folder, recipe())
    hum = Hum()
    again = build.build(folder, recipe(), plug(hum))
    assert len(hum.said) == 12 - after
    assert again == whole
    assert build.is_built(folder, recipe())


def test_a_torn_row_costs_its_sentence_and_no_other(tmp_path: Path) -> None:
    whole = build.build(tmp_path, recipe(), plug(Hum()))
    (tmp_path / ledger.MANIFEST).unlink()
    index = tmp_path / ledger.INDEX
    index.write_bytes(index.read_bytes()[:-9])
    hum = Hum()
    assert build.build(tmp_path, recipe(), plug(hum)) == whole
    assert len(hum.said) == 1
    assert len(list(ledger.rows(tmp_path))) == 12


def test_a_finished_corpus_is_not_said_again(tmp_path: Path) -> None:
    build.build(tmp_path, recipe(), plug(Hum()))
    hum = Hum()
    build.build(tmp_path, recipe(), plug(hum))
    assert hum.said == []


def test_rows_of_several_index_files_count(tmp_path: Path) -> None:
    build.build(tmp_path, recipe(), plug(Hum()))
    (tmp_path / ledger.INDEX).rename(tmp_path / "index.0.jsonl")
    (tmp_path / ledger.MANIFEST).unlink()
    hum = Hum()
    build.build(tmp_path, recipe(), plug(hum))
    assert hum.said == []


def test_rows_from_before_are_digested_and_foreign_ones_counted(tmp_path: Path) -> None:
    whole = build.build(tmp_path, recipe(), plug(Hum()))
    index = tmp_path / ledger.INDEX
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()]
    for row in rows:
        del row["sha256"]
    rows[3]["text"] = None
    index.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    again = build.build(tmp_path, recipe(), plug(Hum()))
    assert again["sha256"] == whole["sha256"]
    assert again["foreign_sentences"] == 1


def test_another_recipe_does_not_mix_into_a_finished_corpus(tmp_path: Path) -> None:
    build.build(tmp_path, recipe(), plug(Hum()))
    with pytest.raises(YaoheError, match="another recipe"):
        build.build(tmp_path, recipe(seed=6), plug(Hum()))


def test_only_one_process_adds_to_a_corpus(tmp_path: Path) -> None:
    with ledger.opened(tmp_path), pytest.raises(YaoheError, match="another process"):
        build.build(tmp_path, recipe(), plug(Hum()))


def test_progress_starts_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build.build(tmp_path, recipe(), plug(Hum(stops_after=5)))
    seen: list[tuple[int, int]] = []
    build.build(
        tmp_path,
        recipe(),
        plug(Hum()),
        advance=lambda progress: seen.append((progress.done, progress.wanted)),
    )
    assert (seen[0], seen[-1]) == ((5, 12), (12, 12))


class Broken(Hum):
    """Hums nothing at all in one voice."""

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        lesson = super().speak(symbols, voice, speed, text=text)
        if voice == "zm_yunjian":
            return Lesson(lesson.audio * 0, lesson.durations, lesson.pitch_hz)
        return lesson


def test_a_bad_lesson_is_left_out_named_and_not_asked_again(tmp_path: Path) -> None:
    manifest = build.build(tmp_path, recipe(), plug(Broken()))
    assert (manifest["sentences"], manifest["rejected"]) == (6, 6)
    assert {row["reason"] for row in ledger.rejected(tmp_path)} == {"silence"}
    hum = Hum()
    build.build(tmp_path, recipe(), plug(hum))
    assert hum.said == []


SYMBOLS = read("今日特价。").symbols


def lesson() -> Lesson:
    return Hum().speak(SYMBOLS, "zf_xiaoxiao")


def test_a_good_lesson_has_no_fault() -> None:
    assert quality.fault(lesson(), SYMBOLS) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x: Lesson(x.audio[:0], x.durations, x.pitch_hz), "finite sound"),
        (lambda x: Lesson(x.audio * np.nan, x.durations, x.pitch_hz), "finite sound"),
        (lambda x: Lesson(x.audio * 9, x.durations, x.pitch_hz), "burst"),
        (lambda x: Lesson(x.audio / 999, x.durations, x.pitch_hz), "silence"),
        (lambda x: Lesson(x.audio[1:], x.durations, x.pitch_hz), "differ"),
        (lambda x: Lesson(x.audio, x.durations, x.pitch_hz * 0), "whisper"),
        (lambda x: Lesson(x.audio, x.durations, x.pitch_hz * np.nan), "finite pitch"),
    ],
)
def test_a_fault_is_found(change: object, reason: str) -> None:
    assert callable(change)
    assert reason in (quality.fault(change(lesson()), SYMBOLS) or "")


def test_a_lesson_whose_pitch_nobody_looked_for_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="pitch of this lesson"):
        ledger.save(tmp_path, 1, SYMBOLS, Lesson(lesson().audio))
