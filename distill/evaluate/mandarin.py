"""One measurement of a voice on held Mandarin sentences, from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from common.text import read
from common.voice.speak import Speaker
from common.voice.walk import Style
from distill.evaluate import likeness, pace, sameness
from distill.evaluate.sentences import Row, Studio, measure, summary
from distill.evaluate.systems import Learnt, Manner, System, Taught

JUDGED = 100
"""Sentences whose sound DNSMOS judges."""
TIMED = 5
"""Sentences on which everybody's speed is measured, three times."""
FIRST_SOUNDS = 20
"""Short sentences whose first sound is timed."""
SAME = 5
"""Sentences that are cut in every way, and said ten times."""
EDITED = 50
"""Sentences that are spoken slower, faster, higher and lower."""
ENDS = (Manner(speed=0.5), Manner(speed=2.0), Manner(pitch=-4.0), Manner(pitch=4.0))
"""The ends that speed and pitch must reach without losing what is understood."""


@dataclass(frozen=True)
class Parts:
    """What is measured beside what is understood.

    Attributes:
        quality: DNSMOS.
        edits: The ends of speed and pitch.
    """

    quality: bool = False
    edits: bool = False


PLAIN_PARTS = Parts()


@dataclass(frozen=True)
class Cast:
    """Who is measured.

    Attributes:
        student: The pack, on one thread.
        wide: The same pack on two threads, for the first sound.
        teacher: The teacher; None where the student is measured alone.
        peers: Other voices; each speaks in one voice only.
    """

    student: Learnt
    wide: Learnt
    teacher: Taught | None
    peers: Sequence[System] = ()


def sounds(cast: Cast, voices: Sequence[str], count: int, parts: Parts) -> int:
    """How many sounds a measurement listens to."""
    systems = 1 if cast.teacher is None else 2
    ends = len(ENDS) * min(EDITED, count) if parts.edits else 0
    return len(voices) * (systems * count + ends) + len(cast.peers) * count


def evaluate(
    studio: Studio,
    cast: Cast,
    voices: Sequence[str],
    sentences: Sequence[str],
    parts: Parts,
) -> dict[str, Any]:
    """Measure a voice.

    Args:
        studio: Where.
        cast: Who.
        voices: The student's logical voices.
        sentences: Held sentences.
        parts: What else is measured.

    Returns:
        ``systems`` (a line each), ``likeness`` (by voice), ``edits``, ``pace``,
        ``first_sound``, ``sameness`` and ``rows``.
    """
    judged = JUDGED if parts.quality else 0
    main: list[System] = [cast.student]
    if cast.teacher is not None:
        main.insert(0, cast.teacher)
    rows: list[Row] = []
    for voice in voices:
        for system in main:
            rows += measure(studio, system, voice, sentences, judged=judged)
    for peer in cast.peers:
        rows += measure(studio, peer, voices[0], sentences, judged=judged)
    edited = _edits(studio, cast.student, voices, sentences) if parts.edits else []
    everybody = [*main, *cast.peers]
    speed = pace.race(everybody, sentences[:TIMED], voices[0])
    sizes = {system.name: system.size for system in everybody}
    lines = summary(rows, sizes)
    for line in lines:
        line.update(
            {key: speed[str(line["system"])][key] for key in ("rtf", "rtf_cpu")}
        )
    found: dict[str, Any] = {
        "systems": lines,
        "pace": speed,
        "first_sound": _first_sound(cast, sentences, voices[0]),
        "sameness": _sameness(cast.student.speaker, sentences[:SAME], voices[0]),
        "edits": _against_plain(summary(edited, sizes), rows),
        "rows": [asdict(row) for row in (*rows, *edited)],
    }
    if cast.teacher is not None:
        for voice in voices:
            near = alike(studio, cast.student.speaker, cast.teacher, voice, sentences)
            if near:
                found.setdefault("likeness", {})[voice] = near
    return found


def alike(
    studio: Studio,
    speaker: Speaker,
    teacher: System,
    voice: str,
    sentences: Sequence[str],
) -> dict[str, float]:
    """Compare a student with its teacher in one voice.

    Args:
        studio: Where the teacher's sounds are.
        speaker: The student.
        teacher: The teacher.
        voice: The logical voice.
        sentences: What they say.

    Returns:
        See :func:`distill.evaluate.likeness.summed`; nothing where the teacher does
        not tell its durations and pitch.
    """
    style = style_of(speaker, voice)
    found = []
    for text in sentences:
        lesson = studio.spoken(teacher, text, voice)
        if not likeness.tells(lesson):
            return {}
        symbols = read(text).symbols
        found.append(likeness.compare(speaker.networks, symbols, style, lesson))
    return {"sentences": len(found), **likeness.summed(found)}


def style_of(speaker: Speaker, voice: str) -> Style:
    """How a speaker's networks are asked for one of its voices."""
    return Style(speaker.pack.manifest.voices[voice].speaker)


def _edits(
    studio: Studio, student: Learnt, voices: Sequence[str], sentences: Sequence[str]
) -> list[Row]:
    """The first sentences at the ends of speed and pitch."""
    rows: list[Row] = []
    for voice in voices:
        for manner in ENDS:
            said = sentences[:EDITED]
            rows += measure(studio, student, voice, said, manner=manner)
    return rows


def _against_plain(
    lines: list[dict[str, Any]], rows: Sequence[Row]
) -> list[dict[str, Any]]:
    """Say beside each end how the same sentences were understood in the plain way."""
    for line in lines:
        same = [
            row
            for row in rows
            if (row.system, row.voice) == (line["system"], line["voice"])
            and row.number <= int(line["sentences"])
        ]
        (plain,) = summary(same, {str(line["system"]): 0})
        line["plain_syllable_error"] = plain["syllable_error"]
    return lines


def _first_sound(
    cast: Cast, sentences: Sequence[str], voice: str
) -> Mapping[str, Mapping[str, Any]]:
    """Time to the first sound with one thread and with two."""
    texts = pace.short_sentences(sentences, FIRST_SOUNDS)
    if not texts:
        return {}
    return {
        "one_thread": pace.first_sound(cast.student, texts, voice),
        "two_threads": pace.first_sound(cast.wide, texts, voice),
    }


def _sameness(
    speaker: Speaker, sentences: Sequence[str], voice: str
) -> dict[str, dict[str, float | int]]:
    """Streamed against whole, and the same text again and again."""
    style = style_of(speaker, voice)
    return {
        "streamed": sameness.streamed_against_whole(speaker.networks, sentences, style),
        "repeated": {**sameness.repeated(speaker.networks, sentences, style)},
    }
