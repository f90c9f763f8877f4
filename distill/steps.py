"""The steps from recipe to packs; each knows when it is done and goes on where it was.

Torch is imported only by the steps that train and export. Every step leaves a small
JSON file that says what it was made from, which is how the next run knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import YaoheError
from common.files import make_directory
from common.protocol.manifest import MANIFEST_NAME, Voice
from common.voice.pack import Pack, load_pack, starter_directory
from distill import packer
from distill.notes import read_note, sha256_of, write_note
from distill.places import Places
from distill.recipe import STAGES, PackPlan, StageName
from distill.settings import DistillSettings
from distill.teacher.base import Plug

if TYPE_CHECKING:
    from distill.student.model import Student

Report = Callable[[StageName, int, dict[str, float]], None]


def trained_steps(places: Places, stage: StageName) -> int:
    """Steps that a stage's checkpoint has behind it, 0 without one."""
    import torch

    path = places.checkpoint(stage)
    if not path.exists():
        return 0
    return int(torch.load(path, weights_only=True)["step"])


def train(
    places: Places,
    settings: DistillSettings,
    report: Report,
    stop: Callable[[], bool],
    stages: Sequence[StageName] = STAGES,
) -> bool:
    """Train the stages that are not done.

    Args:
        places: The recipe's folders.
        settings: Threads.
        report: Called with stage, step and losses now and then.
        stop: Asked before every step.
        stages: Which stages.

    Returns:
        Whether all of them are done.

    Raises:
        YaoheError: ``not_ready`` where the corpus has nothing to train on.
    """
    import torch

    from distill.allocator import keep_memory
    from distill.corpus.dataset import Dataset
    from distill.student.model import Shape
    from distill.train import Schedule, Trainer, log_to

    recipe = places.recipe
    torch.set_num_threads(settings.threads)
    keep_memory()
    make_directory(places.run)
    dataset: Dataset | None = None

    def earlier(stage: StageName) -> Path | None:
        return places.checkpoint(stage) if stage in recipe.stages else None

    for stage in (stage for stage in stages if stage in recipe.stages):
        plan = recipe.stages[stage]
        if trained_steps(places, stage) >= plan.steps:
            continue
        if dataset is None:
            slots = {v.teacher: v.speaker for v in recipe.voices.values()}
            dataset = Dataset(places.corpus, slots)
        if not dataset.train:
            raise YaoheError(
                "not_ready", f"{places.corpus} holds no speech; run the step corpus"
            )
        is_joint = stage == "joint"
        trainer = Trainer(
            stage,
            dataset,
            places.checkpoint(stage),
            Schedule(
                plan.steps,
                rate=plan.rate,
                warmup=plan.warmup,
                frames=plan.frames,
                seed=recipe.seed,
                critic=plan.critic,
            ),
            shape=Shape(**SIZES[recipe.size]),
            start=earlier("acoustic") if is_joint else None,
            also=earlier("masks") if is_joint else None,
            begin=_from_starter if recipe.start == "starter" else None,
        )
        log = log_to(places.log(stage))

        def both(step: int, values: dict[str, float]) -> None:
            log(step, values)  # noqa: B023 - used before the next stage begins
            report(stage, step, values)  # noqa: B023

        trainer.run(both, stop)
        if trainer.step < plan.steps:
            return False
    return True


def _from_starter(student: Student) -> None:
    """Give a student the weights of the pack inside the wheel."""
    from distill.restore import restore

    restore(student, load_pack(starter_directory(), trusted=True))


SIZES: dict[str, dict[str, int]] = {
    "shop": {},
    "tiny": {
        "width": 48,
        "encoder": 2,
        "prosody": 2,
        "prosody_width": 32,
        "decoder": 2,
        "vocoder": 2,
        "vocoder_width": 48,
    },
}
"""Widths and depths by name; the student's own defaults are the shop's."""


def export(
    places: Places, settings: DistillSettings, stage: StageName = "joint"
) -> tuple[Pack, bool]:
    """Export a checkpoint as a draft pack.

    Args:
        places: The recipe's folders.
        settings: Where the teacher is.
        stage: Which checkpoint; an earlier one than ``joint`` can be looked at too.

    Returns:
        The draft, and whether it was there already.

    Raises:
        YaoheError: ``not_ready`` without the checkpoint; ``pack_invalid`` where ONNX
            and torch differ.
    """
    path = places.checkpoint(stage)
    if not path.exists():
        raise YaoheError("not_ready", f"{path} is missing; run the step train")
    sha256 = sha256_of(path)
    facts = read_note(places.export)
    has_draft = (places.draft / MANIFEST_NAME).exists()
    if has_draft and facts.get("checkpoint_sha256") == sha256:
        return load_pack(places.draft, trusted=True), True

    import torch

    from distill.export import export as write_graphs
    from distill.student.model import Shape, Student
    from distill.train import adopt

    saved = torch.load(path, weights_only=True)
    student = Student(Shape(**saved["shape"]))
    adopt(student, path)
    if stage != "joint" and places.checkpoint("masks").exists():
        adopt(student, places.checkpoint("masks"), ("masks",))
    differences = write_graphs(student, places.draft)
    created = datetime.now(timezone.utc).replace(microsecond=0)
    draft = packer.write_draft(
        places.draft,
        packer.Origin(
            name=f"{places.recipe.name}-draft",
            created=created,
            voices={
                name: Voice(speaker=voice.speaker, gender=voice.gender)
                for name, voice in places.recipe.voices.items()
            },
            context=student.shape.context,
            noise_seed=places.recipe.noise_seed,
            teacher=teacher_of(places, settings).card,
        ),
    )
    facts = {
        "checkpoint_sha256": sha256,
        "stage": stage,
        "step": int(saved["step"]),
        "parameters": sum(p.numel() for p in student.parameters()),
        "onnx_against_torch": differences,
        "draft_sha256": draft.sha256,
        "created": created.isoformat(),
    }
    write_note(places.export, facts)
    return draft, False


def teacher_of(places: Places, settings: DistillSettings) -> Plug:
    """The recipe's teacher, not loaded yet.

    Args:
        places: The recipe's folders.
        settings: Where teachers lie.

    Returns:
        The teacher; its card names the voices that the recipe takes from it.
    """
    # Each needs what only itself runs on.
    if places.recipe.teacher == "chattts":
        from distill.teacher import chattts

        plug = chattts.plug(settings.chattts_folder)
    else:
        from distill.teacher import kokoro

        plug = kokoro.plug(settings.kokoro_folder)
    voices = ", ".join(
        f"{name}: {voice.teacher}" for name, voice in places.recipe.voices.items()
    )
    note = f"{plug.card.note} Voices: {voices}."
    return replace(plug, card=plug.card.model_copy(update={"note": note}))


def make_pack(
    places: Places,
    name: str,
    plan: PackPlan,
    target: Path,
    base: Path | None = None,
) -> tuple[Pack, bool]:
    """Cut one pack from the draft, or a dialect pack from another pack.

    Args:
        places: The recipe's folders.
        name: Name of the pack.
        plan: What it holds.
        target: Its folder.
        base: For a dialect pack, what it stands on; by default the recipe's own pack.

    Returns:
        The pack, and whether it was there already.

    Raises:
        YaoheError: ``not_ready`` without a draft or a base, ``pack_invalid``.
    """
    release = packer.Release(
        *(name, plan.version, tuple(plan.voices), tuple(plan.golden), plan.quality),
        plan.dialect,
    )
    source = places.draft
    if plan.base is not None:
        source = base or places.pack(plan.base)
    if not (source / MANIFEST_NAME).exists():
        step = "export" if plan.base is None else f"pack --name {plan.base}"
        raise YaoheError("not_ready", f"{source} holds no pack; run the step {step}")
    with suppress(YaoheError):  # none there, or a broken one: pack it again
        there = load_pack(target, trusted=True)
        if packer.is_current(there, source, release):
            return there, True
    cut = packer.pack if plan.base is None else packer.pack_dialect
    return cut(source, release, target), False
