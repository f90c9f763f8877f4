"""How a command line begins: what was mistyped is one clear line and exit code 2."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any, cast

import typer

from common.version import VERSION

BAD_INPUT = 2
"""Exit code for what the caller has to change."""

# Some releases carry the parser inside themselves, so its base is found by descent.
_Mistyped = cast("type[Exception]", typer.BadParameter.__base__)


def add_version(app: typer.Typer, name: str) -> None:
    """Let a command line say which version it is.

    Args:
        app: The command line.
        name: The command's name.
    """

    def say(is_wanted: bool) -> None:
        if is_wanted:
            typer.echo(f"{name} {VERSION}")
            raise typer.Exit

    option = typer.Option("--version", callback=say, is_eager=True, help="Say which.")

    def root(_: bool = False) -> None:
        """Options of every command."""

    # The annotation is made here, since it names what only this call knows.
    root.__annotations__["_"] = Annotated[bool, option]
    app.callback()(root)


def begin(app: typer.Typer, name: str) -> None:
    """Run a command line to its end; never returns.

    Args:
        app: The command line.
        name: The command's name.
    """
    try:
        code = app(prog_name=name, standalone_mode=False)
    except _Mistyped as mistake:
        code = _told(mistake, name)
    except typer.Abort:
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _told(mistake: Any, name: str) -> int:
    words = str(mistake.format_message()).strip()
    if "\n" in words:  # Not a mistake: a command without words explains itself.
        typer.echo(words, err=True)
        return BAD_INPUT
    # One library's words for what it could not convert, and ours.
    words = words.replace("Input should be a valid ", "it must be a ")
    words = re.sub(", unable to parse .*", "", words)
    where = mistake.ctx.command_path if mistake.ctx else name
    line = f"{name}: invalid_request: {words.rstrip('.')}; see {where} --help"
    typer.echo(line, err=True)
    return BAD_INPUT
