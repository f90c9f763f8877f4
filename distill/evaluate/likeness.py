"""How near the student comes to its teacher, sentence by sentence.

The student is given the teacher's durations, so that frame stands against frame; then
pitch is compared where both are voiced, and the sound as log-mel. Durations are
compared as the student would speak them by itself. Needs the pack's graphs, no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.audio.pcm import from_s16, to_s16
from common.text.symbols import BOS, EOS, IDS, Symbol
from common.voice import source
from common.voice.walk import (
    FRAME_MS,
    PITCH_REFERENCE_HZ,
    Networks,
    Plan,
    Style,
    plan_with,
    render,
    timing,
)
from distill.evaluate.keep import Kept
from distill.evaluate.mel import log_mel

FRAMES_PER_UNIT = 2
"""Frames in a unit of the teacher's durations (600 samples)."""
EDGE_FRAMES = 8
"""Frames of silence kept at the teacher's start, as in training."""
PITCH_FLOOR_HZ = 55.0
"""Below this the teacher's curve is on its way to or from silence."""
_MARKS = frozenset((IDS[BOS], IDS[EOS]))


@dataclass(frozen=True)
class Likeness:
    """One sentence compared, as sums that can be added up.

    Attributes:
        pitch_squares: Squared pitch differences in semitones, over ``voiced`` frames.
        voiced: Frames that both voice.
        voicing_errors: Frames that only one of them voices.
        frames: All frames.
        duration_ms: Duration differences, over ``symbols``.
        symbols: Symbols compared, pauses included, start and end marks not.
        mel: Mean log-mel differences of each frame, summed over ``frames``.
    """

    pitch_squares: float
    voiced: int
    voicing_errors: int
    frames: int
    duration_ms: float
    symbols: int
    mel: float


@dataclass(frozen=True)
class Pair:
    """Teacher and student on the teacher's frames.

    Attributes:
        teacher: ``[frames * 300]`` samples.
        student: The same.
        teacher_hz: ``[frames]``, 0 where unvoiced.
        student_hz: The same.
    """

    teacher: NDArray[np.float32]
    student: NDArray[np.float32]
    teacher_hz: NDArray[np.float32]
    student_hz: NDArray[np.float32]


def _hertz(settled: Plan) -> NDArray[np.float32]:
    """The student's pitch, 0 where unvoiced."""
    octaves, voiced = settled.pitch[:, 0], settled.pitch[:, 1]
    hz: NDArray[np.float32] = np.float32(PITCH_REFERENCE_HZ) * np.exp2(octaves)
    return hz * (voiced > 0)


def _sixteen_bits(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """A sound as a file holds it: in near silence the rounding is what is heard."""
    return from_s16(to_s16(sound))


def tells(lesson: Kept) -> bool:
    """Whether a teacher told what a comparison needs."""
    return {"durations", "pitch_hz"} <= lesson.labels.keys()


def pair(
    networks: Networks, symbols: Sequence[Symbol], style: Style, lesson: Kept
) -> tuple[Pair, NDArray[np.int64], NDArray[np.int64]]:
    """Let the student speak with the teacher's durations.

    Args:
        networks: The student.
        symbols: The sentence with start and end marks.
        style: Its voice.
        lesson: The teacher's sound with ``durations`` and ``pitch_hz``.

    Returns:
        The pair, and frames of each symbol ``[symbols]``: the teacher's and the
        student's own.
    """
    hidden, own = timing(networks, symbols, style)
    counts = lesson.labels["durations"].astype(np.int64) * FRAMES_PER_UNIT
    cut = max(0, int(counts[0]) - EDGE_FRAMES)
    counts[0] -= cut
    settled = plan_with(networks, symbols, style, hidden, counts)
    hz = lesson.labels["pitch_hz"][cut : cut + settled.frames].astype(np.float32)
    begin = cut * source.HOP
    both = Pair(
        teacher=lesson.sound[begin : begin + settled.frames * source.HOP],
        student=_sixteen_bits(render(networks, settled, 0, settled.frames)),
        teacher_hz=np.where(hz >= PITCH_FLOOR_HZ, hz, np.float32(0)),
        student_hz=_hertz(settled),
    )
    return both, counts, own


def compare(
    networks: Networks, symbols: Sequence[Symbol], style: Style, lesson: Kept
) -> Likeness:
    """Compare one sentence; arguments as for :func:`pair`."""
    both, counts, own = pair(networks, symbols, style, lesson)
    mine, theirs = both.student_hz > 0, both.teacher_hz > 0
    shared = mine & theirs
    off = 12 * np.log2(both.student_hz[shared] / both.teacher_hz[shared])
    said = np.array([symbol.id not in _MARKS for symbol in symbols])
    mel = np.abs(log_mel(both.student) - log_mel(both.teacher)).mean(-1)
    return Likeness(
        pitch_squares=float(np.square(off).sum()),
        voiced=int(shared.sum()),
        voicing_errors=int((mine != theirs).sum()),
        frames=len(mine),
        duration_ms=float(np.abs(own - counts)[said].sum() * FRAME_MS),
        symbols=int(said.sum()),
        mel=float(mel.sum()),
    )


def summed(found: Sequence[Likeness]) -> dict[str, float]:
    """Bring sentences to one line.

    Args:
        found: Sentences; at least one.

    Returns:
        ``f0_rmse_semitones``, ``voicing_error``, ``duration_mae_ms``, ``mel_l1``.
    """
    voiced = sum(one.voiced for one in found)
    frames = sum(one.frames for one in found)
    squares = sum(one.pitch_squares for one in found)
    symbols = sum(one.symbols for one in found)
    return {
        "f0_rmse_semitones": round((squares / max(1, voiced)) ** 0.5, 3),
        "voicing_error": round(sum(o.voicing_errors for o in found) / frames, 4),
        "duration_mae_ms": round(sum(one.duration_ms for one in found) / symbols, 2),
        "mel_l1": round(sum(one.mel for one in found) / frames, 4),
    }
