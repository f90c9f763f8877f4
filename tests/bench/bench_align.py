"""Durations and pitch found out from sound alone, beside what the teacher tells.

Kokoro speaks sentences of the first recipe and tells how long each symbol is and how
high its voice; the aligner and the pitch tracker get the sound and the symbols only.
Sentences are also what the aligner learns from, as in a corpus.

A teacher's own durations are no ground truth of the sound: Kokoro's stand some 45 ms
after it, and give the silence before a pause to the symbol before it. So symbols before
a pause are counted apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common.text.symbols import PAUSES, WORD
from distill.corpus import align
from distill.corpus.build import plan
from distill.corpus.pitch import pitch
from distill.recipe import load_recipe
from distill.settings import DistillSettings
from distill.teacher import kokoro
from distill.teacher.base import Lesson
from tests.bench.boxes import scaled

NEEDS = ("jieba",)
SENTENCES = 60
UNIT_MS = 25
GROSS_SEMITONES = 3.0
PITCH_FLOOR_HZ = 55.0


def pitch_rows(lessons: list[Lesson]) -> list[dict[str, Any]]:
    """How far the tracker is from the teacher's pitch."""
    errors, voiced, missed, false, silent = [], 0, 0, 0, 0
    for lesson in lessons:
        assert lesson.pitch_hz is not None
        found, told = pitch(lesson.audio), lesson.pitch_hz
        ours, theirs = found > 0, told > PITCH_FLOOR_HZ
        both = ours & theirs
        errors.append(12 * np.log2(found[both] / told[both]))
        voiced, silent = voiced + int(theirs.sum()), silent + int((~theirs).sum())
        missed += int((theirs & ~ours).sum())
        false += int((ours & ~theirs).sum())
    semitones = np.concatenate(errors)
    fine = semitones[np.abs(semitones) < GROSS_SEMITONES]
    gross = 1 - len(fine) / len(semitones)
    rms = float(np.sqrt(np.mean(fine**2)))
    return [
        {"what": "pitch, RMS, semitones", "value": rms},
        {"what": "pitch, more than 3 semitones off, share", "value": gross},
        {"what": "pitch, told voiced and not found, share", "value": missed / voiced},
        {"what": "pitch, found and not told, share", "value": false / silent},
    ]


def run() -> dict[str, Any]:
    """Measure.

    Returns:
        Rows of what and how far off.
    """
    recipe = load_recipe("first")
    teacher = kokoro.KokoroTeacher(DistillSettings().kokoro_folder)
    tasks = [task for task in plan(recipe) if task.speed == 1][: scaled(SENTENCES)]
    lessons = [teacher.speak(task.sentence.symbols, task.voice) for task in tasks]
    sentences = [
        align.Sentence(
            tuple(symbol.id for symbol in task.sentence.symbols),
            *align.features(lesson.audio),
        )
        for task, lesson in zip(tasks, lessons, strict=True)
    ]
    aligner = align.learn(sentences)
    inner, before_pause, soft, ends = [], [], [], []
    for task, lesson, sentence in zip(tasks, lessons, sentences, strict=True):
        assert lesson.durations is not None
        found = aligner.units(sentence)
        names = [symbol.name for symbol in task.sentence.symbols]
        is_soft = np.array([name in PAUSES or name == WORD for name in names])
        is_before = np.array([*(name in PAUSES for name in names[1:]), False])
        off = np.abs(found - lesson.durations) * UNIT_MS
        inner.append(off[~is_soft & ~is_before])
        before_pause.append(off[~is_soft & is_before])
        soft.append(off[is_soft])
        late = (np.cumsum(found) - np.cumsum(lesson.durations)) * UNIT_MS
        ends.append(late[~is_soft & ~is_before])
    within, edges = np.concatenate(inner), np.concatenate(ends)
    shift = float(np.median(edges))
    rows = [
        {"what": "symbols that sound, off by, ms (mean)", "value": within.mean()},
        {"what": "the same, median", "value": float(np.median(within))},
        {
            "what": "the same, at most one unit (25 ms), share",
            "value": float((within <= UNIT_MS).mean()),
        },
        {
            "what": "symbols before a pause, mean",
            "value": np.concatenate(before_pause).mean(),
        },
        {"what": "pauses and word gaps, mean", "value": np.concatenate(soft).mean()},
        {"what": "ends of symbols, earlier by (median)", "value": -shift},
        {
            "what": "the same without that shift, off by (mean)",
            "value": float(np.abs(edges - shift).mean()),
        },
        *pitch_rows(lessons),
    ]
    minutes = sum(len(lesson.audio) for lesson in lessons) / 24_000 / 60
    return {"rows": rows, "minutes_of_speech": minutes, "symbols": len(within)}
