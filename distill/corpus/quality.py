"""Whether a lesson is worth learning from; a bad one is left out and named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.audio.pcm import rms_dbfs
from common.text.symbols import PAUSES, WORD, Symbol
from distill.teacher.base import Lesson

QUIETEST_DB = -50.0
"""A sound whose level is lower is silence, in dB relative to full scale."""
LOUDEST_PEAK = 1.5
"""A sample beyond this is a fault and not a little overshoot."""
SLOWEST_UNITS, FASTEST_UNITS = 24.0, 0.8
"""Mean units per sounding symbol, at most (0.6 s) and at least (20 ms)."""
LEAST_VOICED = 0.1
"""Share of the sentence that is voiced, at least."""
VOICED_HZ = 10.0


def fault(
    lesson: Lesson,
    symbols: Sequence[Symbol],
    least_voiced: float = LEAST_VOICED,
    *,
    has_sound: bool = True,
) -> str | None:
    """Look for what would teach the student something wrong.

    Args:
        lesson: What the teacher said.
        symbols: What it was asked to say.
        least_voiced: Share of the sentence that is voiced, at least.
        has_sound: Whether it was to say it, or only to tell how it would.

    Returns:
        The reason to leave it out, None where it is good.
    """
    if has_sound and (reason := _sound_fault(lesson)):
        return reason
    if lesson.durations is not None:
        sounding = [
            units
            for units, symbol in zip(lesson.durations, symbols, strict=True)
            if symbol.name != WORD and symbol.name not in PAUSES
        ]
        if not sounding:
            return "nothing that sounds"
        if not FASTEST_UNITS <= float(np.mean(sounding)) <= SLOWEST_UNITS:
            return "a speed nobody speaks at"
    if lesson.pitch_hz is not None:
        if not np.isfinite(lesson.pitch_hz).all():
            return "no finite pitch"
        if float((lesson.pitch_hz > VOICED_HZ).mean()) < least_voiced:
            return "a whisper"
    return None


def _sound_fault(lesson: Lesson) -> str | None:
    """What is wrong with the sound of a lesson."""
    audio = lesson.audio
    if not audio.size or not np.isfinite(audio).all():
        return "no finite sound"
    if float(np.abs(audio).max()) > LOUDEST_PEAK:
        return "a burst"
    if rms_dbfs(audio) < QUIETEST_DB:
        return "silence"
    return "durations and sound differ" if lesson.samples != audio.size else None
