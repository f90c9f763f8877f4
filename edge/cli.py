"""``yaohe-edge``: say, run, doctor, read.

Rules: settings are read once, here; bad input is one clear line on standard error and
exit code 2; what a program may want to read goes to standard output, the rest to
standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from common import log
from common.errors import YaoheError
from common.protocol.synthesis import DEFAULT_DIALECT, DEFAULT_VOICE
from common.settings import settings_error
from common.text import Lexicon, LexiconFile
from common.usage import BAD_INPUT, add_version, begin
from edge.ota.cli import packs
from edge.settings import EdgeSettings

NOT_WELL = 1
"""Exit code of ``doctor`` when something must be mended."""
UNREAD = 3
"""Exit code of ``read`` when a character of the text cannot be read."""

app = typer.Typer(
    help="A box that speaks: from its cache or its own voice, with no network.\n\n"
    "Hear it in one line:\n\n"
    "    yaohe-edge say '今日特价，新鲜草莓每斤9.9元，买一送一。' --out a.wav",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
add_version(app, "yaohe-edge")

app.add_typer(packs, name="packs")

Dialect = Annotated[
    str, typer.Option(help="zh Mandarin, gd Cantonese, sc Chengdu dialect.")
]
OwnWords = Annotated[
    Path | None, typer.Option("--lexicon", help="File of your own readings.")
]
Context = Annotated[
    str | None,
    typer.Option(help="What numbers are about: price, date, time, telephone, digits."),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the box's state; YAOHE_EDGE_DATA by default."),
]
Ssml = Annotated[bool, typer.Option("--ssml", help="The text is marked up.")]


def main() -> None:
    """Run the command line."""
    begin(app, "yaohe-edge")


def _clearly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors that a caller can mend into one line and exit code 2."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except YaoheError as error:
            _complain(f"{error.code}: {error.message}")
        except OSError as error:
            _complain(f"{error.filename or 'the system'}: {error.strerror or error}")

    return run


def _complain(line: str) -> None:
    typer.echo(f"yaohe-edge: {' '.join(line.splitlines())}", err=True)
    raise typer.Exit(BAD_INPUT)


def _settings(**given: Any) -> EdgeSettings:
    """Settings from the environment, and over them what the command line gives."""
    try:
        return EdgeSettings(**{name: v for name, v in given.items() if v is not None})
    except ValidationError as refusal:
        raise settings_error(refusal, "edge") from None


def _own_words(settings: EdgeSettings) -> Lexicon | None:
    """The lexicon that the settings name; a mistake in it is an error here."""
    own = settings.lexicon
    return None if own is None else LexiconFile(own).require()


@app.command()
@_clearly
def say(
    text: Annotated[str, typer.Argument(help="What to say.")],
    out: Annotated[
        Path,
        typer.Option(help="File to write: .wav .mp3 .flac .opus .pcm, by its ending."),
    ],
    dialect: Dialect = DEFAULT_DIALECT,
    voice: Annotated[str, typer.Option(help="Who speaks.")] = DEFAULT_VOICE,
    speed: Annotated[float, typer.Option(help="0.25 to 4.")] = 1.0,
    pack: Annotated[
        Path | None, typer.Option(help="Speak with the pack in this folder.")
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Trust that pack without a signature.")
    ] = False,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="Print how the text was read, as JSON.")
    ] = False,
    skip_unreadable: Annotated[
        bool,
        typer.Option("--skip-unreadable", help="Leave out what nobody can read."),
    ] = False,
    lexicon: OwnWords = None,
    context: Context = None,
    ssml: Ssml = False,
    data: Data = None,
) -> None:
    """Say a text into a file, without any server.

    It is the box without its door: the same voices, and the same cache, which keeps
    what was said. With --data it is another box; with --pack nothing is kept.

    Example: yaohe-edge say '第12桌请取餐' --out a.wav --receipt
    """
    from common.voice.pack import UNSIGNED
    from edge.say import say_to_file

    log.set_up("warning")
    settings = _settings(lexicon=lexicon, data=data)
    _own_words(settings)
    values = {
        "input": text,
        "dialect": dialect,
        "voice": voice,
        "speed": speed,
        "on_unreadable": "skip" if skip_unreadable else "fail",
        "context": context,
        "ssml": ssml,
    }
    try:
        told = say_to_file(settings, values, out, pack=pack, is_unsigned=unsigned)
    except YaoheError as error:
        if (error.data or {}).get("reason") != UNSIGNED:
            raise
        advice = f"{error.message}; --unsigned lets it speak on your word"
        raise YaoheError(error.code, advice) from None
    if receipt:
        typer.echo(json.dumps(told.account.as_dict(), ensure_ascii=False, indent=2))
    typer.echo(told.line, err=True)


@app.command()
@_clearly
def run(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; all by default.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one.")
    ] = None,
    data: Data = None,
) -> None:
    """Answer the shop's devices over HTTP until stopped.

    Then open http://BOX:8701/ or GET /v1/audio/speech?input=今日特价
    """
    from edge.serve import serve

    settings = _settings(data=data)
    http = settings.http.model_dump() | {
        name: value
        for name, value in (("host", host), ("port", port))
        if value is not None
    }
    serve(_settings(data=data, http=http))


@app.command()
@_clearly
def enrol(
    code: Annotated[
        str, typer.Argument(help="The code that `yaohe-cloud boxes invite` printed.")
    ],
    cloud: Annotated[
        str, typer.Option(help="Address of the cloud: http://cloud.example:8700")
    ],
    data: Data = None,
) -> None:
    """Make this box one of a chain; `yaohe-edge run` then keeps it in sync.

    Example: yaohe-edge enrol CODE --cloud http://192.168.1.10:8700
    """
    from edge.sync.cli import enrol_box

    typer.echo(enrol_box(_settings(data=data), code, cloud))


@app.command()
@_clearly
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = None,
) -> None:
    """Say what is wrong with this box, and what to do about it.

    Exit code 1 when the shop may hear nothing.

    Example: yaohe-edge doctor --json
    """
    from edge.doctor import examine

    checks = examine(_settings(data=data))
    if as_json:
        found = [check.as_dict() for check in checks]
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        for check in checks:
            advice = f" {check.advice}" if check.advice else ""
            typer.echo(f"{check.verdict:4}  {check.name:9} {check.says}{advice}")
    if any(check.verdict == "fail" for check in checks):
        raise typer.Exit(NOT_WELL)


@app.command()
@_clearly
def read(
    text: Annotated[str, typer.Argument(help="What to read.")] = "",
    dialect: Dialect = DEFAULT_DIALECT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_lines: Annotated[
        bool,
        typer.Option(
            "--jsonl",
            help='Read objects {"id", "text", "dialect"} from standard input, '
            "one a line, and print one a line.",
        ),
    ] = False,
    lexicon: OwnWords = None,
    context: Context = None,
    ssml: Ssml = False,
) -> None:
    """Show how a text is read, syllable by syllable, and by which rule.

    Exit code 3 when a character cannot be read; with --jsonl each line says so itself.

    Example: yaohe-edge read '草莓9.9元' --context price
    """
    from edge import reading

    own = _own_words(_settings(lexicon=lexicon))
    if as_lines:
        if not reading.read_lines(sys.stdin.buffer, sys.stdout, own):
            raise typer.Exit(BAD_INPUT)
        return
    if not text:
        raise YaoheError("nothing_to_say", "give a text, or --jsonl")
    told, is_whole = reading.read_one(
        text, dialect, as_json=as_json, lexicon=own, context=context, ssml=ssml
    )
    typer.echo(told)
    if not is_whole:
        raise typer.Exit(UNREAD)
