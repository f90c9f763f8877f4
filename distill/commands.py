"""What the verbs of the command line do: a step, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import typer
from rich.console import Console

from common.errors import YaoheError
from common.files import write_atomic
from common.protocol.manifest import MANIFEST_NAME
from common.voice.pack import Pack, load_pack
from common.voice.speak import Speaker
from distill import packer, show, steps, tuning
from distill.corpus import build
from distill.corpus.sentences import coverage, generate
from distill.evaluate import run
from distill.evaluate.result import RESULT
from distill.evaluate.run import Wish
from distill.judge.client import Judge
from distill.judge.score import score
from distill.notes import read_note
from distill.places import Places
from distill.recipe import STAGES, HeldSet, StageName
from distill.settings import DistillSettings


def _console() -> Console:
    """Standard error: what a program reads goes to standard output."""
    return Console(stderr=True)


def _stages(name: str) -> tuple[StageName, ...]:
    """The stage of that name, all for an empty one."""
    chosen = tuple(stage for stage in STAGES if name in ("", stage))
    if not chosen:
        raise YaoheError(
            "invalid_request", f"no stage {name}; there are {', '.join(STAGES)}"
        )
    return chosen


def show_coverage(places: Places) -> None:
    """Count a recipe's sentences and symbols."""
    sentences = list(generate(places.recipe))
    rows = [
        {"symbol": name, "count": count}
        for name, count in sorted(coverage(sentences).items(), key=lambda item: item[1])
    ]
    typer.echo(json.dumps({"sentences": len(sentences), "symbols": rows}))
    rarest = f"{len(sentences)} sentences; the rarest symbols"
    _console().print(show.table(rows[:12], rarest))


def require_training() -> None:
    """Look for what later steps need before hours go into the first.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    for name in ("torch", "onnx"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(name=name)


def corpus(places: Places, settings: DistillSettings, workers: int) -> None:
    """Build or finish the corpus."""
    console = _console()
    if build.is_built(places.corpus, places.recipe):
        console.print(f"corpus: {places.corpus} is finished")
        return
    teacher = steps.teacher_of(places, settings)
    teacher.fetch(lambda line: console.print(f"teacher: {line}"))
    with show.bar(console, f"corpus {places.recipe.corpus.name}") as move:

        def advance(progress: build.Progress) -> None:
            said = f"{progress.seconds / 60:.1f} min of speech"
            move(progress.done, progress.wanted, said)

        manifest = build.build(
            places.corpus,
            places.recipe,
            teacher,
            workers=workers,
            advance=advance,
        )
    hours = {voice: f"{s / 3600:.2f} h" for voice, s in manifest["seconds"].items()}
    console.print(f"corpus: {manifest['sentences']} sentences, {hours}")


def train(
    places: Places,
    settings: DistillSettings,
    stop: Callable[[], bool],
    stage: str = "",
) -> bool:
    """Train; whether all chosen stages are done."""
    console = _console()
    plans = places.recipe.stages
    stages = _stages(stage)
    with show.bar(console, "train") as move:

        def report(name: StageName, step: int, values: dict[str, float]) -> None:
            losses = " ".join(f"{key} {value:.3g}" for key, value in values.items())
            move(step, plans[name].steps, f"{name} {losses}")

        is_done = steps.train(places, settings, report, stop, stages)
    console.print(f"train: {'done' if is_done else 'stopped'}, {places.run}")
    return is_done


def export(places: Places, settings: DistillSettings, stage: str = "joint") -> None:
    """Export a checkpoint."""
    draft, was_there = steps.export(places, settings, _stages(stage)[-1])
    note = read_note(places.export)
    _console().print(
        f"export: {note['stage']} step {note['step']}, {note['parameters']} parameters,"
        f" ONNX against torch {max(note['onnx_against_torch'].values()):.1e},"
        f" {draft.directory}{' (was there)' if was_there else ''}"
    )


def held_set(name: str) -> HeldSet:
    """The held set of that name."""
    for each in get_args(HeldSet):
        if name == each:
            found: HeldSet = each
            return found
    known = ", ".join(get_args(HeldSet))
    raise YaoheError("invalid_request", f"no held set {name}; there are {known}")


def _measured_pack(places: Places, folder: Path | None) -> Pack:
    if folder is None and not (places.draft / MANIFEST_NAME).exists():
        raise YaoheError(
            "not_ready", f"no draft in {places.draft}; run the step export"
        )
    return load_pack(folder or places.draft, trusted=True)


def evaluate(
    places: Places, settings: DistillSettings, wish: Wish, folder: Path | None = None
) -> dict[str, Any]:
    """Measure a pack, by default the draft."""
    console = _console()
    voice_pack = _measured_pack(places, folder)
    known = tuple(voice_pack.manifest.voices)
    voices = wish.voices or tuple(v for v in known if v in places.recipe.voices)
    if strangers := [v for v in voices if v not in known]:
        raise YaoheError("unknown_voice", f"no voice {strangers[0]} in the pack")
    kept = places.evaluation(wish.held, voice_pack.manifest.name)
    with show.bar(console, f"evaluate {wish.held}") as move:
        result = run.evaluate(
            places,
            settings,
            voice_pack,
            replace(wish, voices=voices),
            kept,
            lambda done, wanted: move(done, wanted, "sounds"),
        )
    title = f"{voice_pack.label}, {result['count']} held sentences ({wish.held})"
    if "systems" in result:
        console.print(show.comparison(result["systems"], title))
    else:
        console.print(show.dialect(result, title))
    console.print(f"evaluate: {kept / RESULT}")
    return result


def evaluate_once(places: Places, settings: DistillSettings) -> None:
    """Measure the draft as the recipe says, unless that was done."""
    wanted = places.recipe.evaluation
    draft = _measured_pack(places, None)
    path = places.evaluation(wanted.held, draft.manifest.name) / RESULT
    there = read_note(path)
    if (there.get("sha256"), there.get("count")) == (draft.sha256, wanted.count):
        _console().print(f"evaluate: {path} is there")
        return
    evaluate(places, settings, Wish(wanted.held, wanted.count))


def pack(
    places: Places,
    name: str = "",
    to: Path | None = None,
    base: Path | None = None,
) -> None:
    """Cut packs from the draft, and dialect packs from those."""
    plans = places.recipe.packs
    if name and name not in plans:
        raise YaoheError(
            "not_found", f"no pack {name} in the recipe; it has {', '.join(plans)}"
        )
    if to is not None and not name:
        raise YaoheError("invalid_request", "--to needs --name")
    # What a dialect pack stands on is cut before it.
    in_order = sorted(plans, key=lambda each: plans[each].base is not None)
    for each in [name] if name else in_order:
        target = to or places.pack(each)
        made, was_there = steps.make_pack(places, each, plans[each], target, base)
        size = sum(file.size for file in made.manifest.files.values())
        _console().print(
            f"pack: {made.label}, {size / 1e6:.3f} MB, {made.sha256[:12]},"
            f" {target}{' (was there)' if was_there else ''}"
        )


def tune(places: Places, dialect: str, to: Path | None) -> None:
    """Hold the draft's voices to a dialect; see :func:`distill.tuning.tune`."""
    console = _console()

    path = to or packer.TABLES / f"{dialect}.json"
    table = packer.read_table(dialect)
    speaker = Speaker(_measured_pack(places, None), provider="cpu")
    tuned = tuning.tune(
        speaker.networks,
        {name: v.speaker for name, v in speaker.pack.manifest.voices.items()},
        dialect,
        table.dialects[dialect],
        tuning.sentences_of(places.recipe.seed + 2, dialect),
        lambda each: console.print(f"{each.voice}: {each.before} -> {each.after}"),
    )
    new = table.model_copy(update={"dialects": {dialect: tuned}})
    write_atomic(path, tuning.table_bytes(new))
    console.print(f"tune: {path}")


def report(places: Places, to: Path | None) -> None:
    """Write the report of all measurements."""
    from distill.report import paper

    folder = to or places.run / "report"
    lines = paper.write(places, folder)
    judged = [line for line in lines if line.is_reached is not None]
    reached = sum(bool(line.is_reached) for line in judged)
    for line in judged:
        if not line.is_reached:
            _console().print(
                f"not reached: {line.measure}, {line.voice}: {line.found}"
                f" (to reach: {line.wanted})"
            )
    _console().print(
        f"report: {reached} of {len(judged)} reached, {folder / paper.PAPER}"
    )


def status(places: Places) -> None:
    """Show how far a recipe is."""
    Console().print(show.table(show.status(places), f"recipe {places.recipe.name}"))


def judge(
    settings: DistillSettings, wavs: Sequence[Path], text: str, *, with_quality: bool
) -> float:
    """Listen to files and print a line for each.

    Returns:
        The highest syllable error, 0 without a text.
    """
    if missing := [wav for wav in wavs if not wav.is_file()]:
        raise YaoheError("not_found", f"{missing[0]} is no file")
    worst = 0.0
    cache = settings.data / "judge"
    with Judge(settings.judge, cache) as ear:
        for wav in wavs:
            heard = ear.hear(wav)
            line: dict[str, Any] = {"wav": str(wav), "heard": heard}
            if text:
                found = score(text, heard)
                line["syllable_error"] = round(found.rate, 4)
                line["errors"], line["syllables"] = found.errors, found.syllables
                worst = max(worst, found.rate)
            if with_quality:
                line["dnsmos"] = ear.quality(wav)
            typer.echo(json.dumps(line, ensure_ascii=False))
    return worst
