"""``yaohe-distill``: from a teacher to a pack, in steps that can be repeated.

Rules: settings are read once, here; torch is imported by the steps that need it and not
before; bad input is one clear line on standard error and exit code 2; an interrupted
step keeps what it has and exits with 130.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from common import log
from common.errors import YaoheError
from common.settings import settings_error
from common.usage import BAD_INPUT, add_version, begin
from distill.places import Places
from distill.recipe import load_recipe, shipped
from distill.settings import DistillSettings

TOO_MANY_ERRORS = 1
"""Exit code of ``judge`` when more was misheard than allowed."""
INTERRUPTED = 130
"""Exit code of a step that was stopped and can go on."""

app = typer.Typer(
    help="Teach a small voice from a large one, and pack it for a box.\n\n"
    "Everything at once, again and again until it is done:\n\n"
    "    yaohe-distill run shop\n\n"
    "or step by step: corpus, train, export, evaluate, pack. RECIPE is a YAML file or\n"
    f"the name of a shipped recipe ({', '.join(shipped())}). Data goes to\n"
    "YAOHE_DISTILL_DATA, else ~/.cache/yaohe/distill.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
add_version(app, "yaohe-distill")

RecipeName = Annotated[
    str, typer.Argument(metavar="RECIPE", help="YAML file, or a shipped recipe's name.")
]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Teachers side by side.")]
Stage = Annotated[
    str, typer.Option(help="Only acoustic, masks or joint; all in turn by default.")
]


def main() -> None:
    """Run the command line."""
    begin(app, "yaohe-distill")


def _clearly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors that a caller can mend into one line and exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        log.set_up("warning")
        try:
            command(*args, **options)
        except YaoheError as error:
            _complain(f"{error.code}: {error.message}")
        except OSError as error:
            _complain(f"{error.filename or 'the system'}: {error.strerror or error}")
        except ModuleNotFoundError as error:
            _complain(f"the package {error.name} is missing; run: make setup-distill")
        except KeyboardInterrupt:
            typer.echo("yaohe-distill: stopped; run again to go on", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return run


def _complain(line: str) -> None:
    typer.echo(f"yaohe-distill: {' '.join(line.splitlines())}", err=True)
    raise typer.Exit(BAD_INPUT)


def _settings() -> DistillSettings:
    try:
        return DistillSettings()
    except ValidationError as refusal:
        raise settings_error(refusal, "distill") from None


def _places(recipe: str) -> tuple[Places, DistillSettings]:
    settings = _settings()
    return Places(settings.data, load_recipe(recipe)), settings


@app.command()
@_clearly
def corpus(
    recipe: RecipeName,
    workers: Workers = 1,
    dry: Annotated[
        bool, typer.Option("--dry", help="Only count sentences and symbols.")
    ] = False,
) -> None:
    """Let the teacher say the recipe's sentences.

    Resumable: what is there is not said again. Ends with a manifest (digests, seconds
    by voice, how often each symbol occurs).
    """
    from distill import commands

    places, settings = _places(recipe)
    if dry:
        commands.show_coverage(places)
    else:
        commands.corpus(places, settings, workers)


@app.command()
@_clearly
def train(recipe: RecipeName, stage: Stage = "") -> None:
    """Train the student on the corpus, as far as it is.

    Resumable at the last checkpoint; Ctrl-C writes one. May run while the step corpus
    still works: new sentences are taken in.
    """
    from distill import commands

    places, settings = _places(recipe)
    if not commands.train(places, settings, _until_told(), stage):
        raise KeyboardInterrupt


@app.command()
@_clearly
def export(
    recipe: RecipeName,
    stage: Annotated[str, typer.Option(help="The checkpoint to export.")] = "joint",
) -> None:
    """Export the student to ONNX, proven equal to torch, as a draft pack."""
    from distill import commands

    places, settings = _places(recipe)
    commands.export(places, settings, stage)


@app.command()
@_clearly
def evaluate(
    recipe: RecipeName,
    pack: Annotated[
        Path | None, typer.Option(help="A pack to measure; the draft by default.")
    ] = None,
    held: Annotated[str, typer.Option(help="signage, wide, english, sc or gd.")] = "",
    count: Annotated[int, typer.Option(min=0, help="Sentences; 0: the recipe's.")] = 0,
    voice: Annotated[
        list[str] | None, typer.Option(help="Only this voice; may be repeated.")
    ] = None,
    no_teacher: Annotated[
        bool, typer.Option("--no-teacher", help="Measure the student alone.")
    ] = False,
    dnsmos: Annotated[
        bool, typer.Option("--dnsmos", help="Estimate sound quality too.")
    ] = False,
    edits: Annotated[
        bool, typer.Option("--edits", help="Speak slower, faster, higher, lower too.")
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Measure other voices too (make voices).")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All of --dnsmos --edits --peers.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON.")
    ] = False,
) -> None:
    """Measure the student beside its teacher on held sentences.

    Syllable error through Whisper base (`make judge`), pitch and spectra with the
    teacher's durations, durations, real-time factor on one core with reading, time to
    the first sound, streamed against whole sound, size. Sounds and answers are kept by
    digest, so a second run only does what is new; speed is always measured anew.
    """
    from distill import commands
    from distill.evaluate.mandarin import Parts
    from distill.evaluate.run import Wish

    places, settings = _places(recipe)
    wish = Wish(
        held=commands.held_set(held or places.recipe.evaluation.held),
        count=count or places.recipe.evaluation.count,
        voices=tuple(voice or ()),
        with_teacher=not no_teacher,
        with_peers=peers or full,
        parts=Parts(quality=dnsmos or full, edits=edits or full),
    )
    result = commands.evaluate(places, settings, wish, pack)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))


@app.command()
@_clearly
def report(
    recipe: RecipeName,
    to: Annotated[
        Path | None, typer.Option(help="Its folder; by default beside the results.")
    ] = None,
) -> None:
    """Write one report of everything that was measured: table, spectrograms, tones.

    Markdown with PNG and SVG figures, and all numbers as JSON.
    """
    from distill import commands

    places, _ = _places(recipe)
    commands.report(places, to)


@app.command()
@_clearly
def pack(
    recipe: RecipeName,
    name: Annotated[
        str, typer.Option(help="Only the pack of this name; all by default.")
    ] = "",
    to: Annotated[
        Path | None, typer.Option(help="Its folder, together with --name.")
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            help="What dialect packs stand on; by default the recipe's own pack."
        ),
    ] = None,
) -> None:
    """Cut the recipe's packs from the draft: manifest, digests, golden phrases.

    Dialect packs are cut from a finished pack, whose weights they pin. Needs no torch.
    Example: yaohe-distill pack shop --name yaohe-man --to man/
    """
    from distill import commands

    places, _ = _places(recipe)
    commands.pack(places, name, to, base)


@app.command()
@_clearly
def tune(
    recipe: RecipeName,
    dialect: Annotated[str, typer.Argument(metavar="DIALECT", help="sc or gd.")],
    to: Annotated[
        Path | None, typer.Option(help="By default the one packs are cut with.")
    ] = None,
) -> None:
    """Measure how the draft sings a dialect's levels; then cut its packs."""
    from distill import commands

    places, _ = _places(recipe)
    commands.tune(places, dialect, to)


@app.command()
@_clearly
def run(recipe: RecipeName, workers: Workers = 1) -> None:
    """Do all steps: corpus, train, export, evaluate, pack; what is done is skipped."""
    from distill import commands

    places, settings = _places(recipe)
    commands.require_training()
    commands.corpus(places, settings, workers)
    if not commands.train(places, settings, _until_told()):
        raise KeyboardInterrupt
    commands.export(places, settings)
    commands.evaluate_once(places, settings)
    commands.pack(places)


Keys = Annotated[Path, typer.Option(help="Folder of the chain's keys.")]


@app.command()
@_clearly
def keygen(
    folder: Annotated[Path, typer.Argument(help="A new folder for the keys.")],
) -> None:
    """Make the keys of a chain: who may name keys, who may bring a voice.

    Keep offline/ on a machine that no server reaches. online/ and metadata/ go to the
    cloud: yaohe-cloud packs trust FOLDER
    """
    from distill import signing

    signing.keygen(folder)
    typer.echo(f"keys are in {folder}; offline/ stays offline")


@app.command()
@_clearly
def sign(
    pack: Annotated[Path, typer.Argument(help="The pack's folder.")],
    keys: Keys,
) -> None:
    """Sign a pack, so that boxes may speak with it.

    Writes the envelope beside its manifest and a new targets file into the keys'
    metadata/; both go to the cloud.
    """
    from distill import signing

    manifest = signing.sign_pack(pack, keys)
    typer.echo(f"{manifest.label} is signed")


@app.command()
@_clearly
def renew(
    role: Annotated[str, typer.Argument(help="root or targets.")],
    keys: Keys,
) -> None:
    """Sign a role's metadata again before it expires."""
    from distill import signing

    if role not in signing.OFFLINE:
        raise YaoheError("invalid_request", "root and targets are renewed here")
    signing.renew(keys, signing.OFFLINE[role])
    typer.echo(f"{role} is renewed")


@app.command("replace-key")
@_clearly
def replace_key(
    role: Annotated[str, typer.Argument(help="snapshot, timestamp or phrases.")],
    keys: Keys,
) -> None:
    """Give an online role a new key, because the old one may be stolen."""
    from distill import signing

    if role not in signing.ONLINE:
        raise YaoheError("invalid_request", f"{role} is no online role")
    signing.replace_key(keys, signing.ONLINE[role])
    typer.echo(f"{role} has a new key; take it up with `yaohe-cloud packs trust`")


@app.command()
@_clearly
def status(recipe: RecipeName) -> None:
    """Show how far a recipe is."""
    from distill import commands

    places, _ = _places(recipe)
    commands.status(places)


@app.command()
@_clearly
def judge(
    wav: Annotated[list[Path], typer.Argument(help="Sound files.")],
    text: Annotated[
        str, typer.Option(help="What they should say; then errors are counted.")
    ] = "",
    most: Annotated[
        float, typer.Option(help="Exit 1 where the syllable error is higher.")
    ] = 1.0,
    dnsmos: Annotated[
        bool, typer.Option("--dnsmos", help="Estimate sound quality too.")
    ] = False,
) -> None:
    """Listen to sound files; print what was understood, one JSON object a line.

    Example: yaohe-distill judge a.wav --text '今日特价' --most 0.08
    """
    from distill import commands

    worst = commands.judge(_settings(), wav, text, with_quality=dnsmos)
    if worst > most:
        raise typer.Exit(TOO_MANY_ERRORS)


def _until_told() -> Callable[[], bool]:
    """A question that Ctrl-C or a termination answers with yes."""
    told: list[int] = []

    def hear(number: int, _: FrameType | None) -> None:
        if told:  # asked twice: at once
            sys.exit(INTERRUPTED)
        told.append(number)
        typer.echo("yaohe-distill: stopping after this step ...", err=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)
    return lambda: bool(told)
