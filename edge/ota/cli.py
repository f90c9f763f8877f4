"""``yaohe-edge packs``: which packs speak here, and packs from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from common import log
from common.errors import YaoheError
from common.settings import settings_error
from edge.db import DatabaseGone
from edge.settings import EdgeSettings

BAD_INPUT = 2
PATIENCE_S = 60.0
"""How long a command waits for a box that is receiving a pack."""

packs = typer.Typer(
    help="Packs that speak on this box. A running box notices a change by itself.",
    no_args_is_help=True,
)
Data = Annotated[Path | None, typer.Option(help="Folder of the box's state.")]


@packs.command("list")
def list_packs(
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which packs came to this box, and what became of each."""
    from edge.ota.ledger import Ledger

    with _clearly():
        folder = _data(data)
        rows: list[dict[str, Any]] = []
        if (folder / "ota.db").exists():
            ledger = Ledger(folder / "ota.db")
            try:
                ledger.wait_open()
                slots = ledger.slots()
                for update in ledger.all():
                    speaks = [
                        f"{s.voice}/{s.dialect}"
                        for s in slots
                        if s.current == update.manifest
                    ]
                    row = {
                        "pack": update.label,
                        "manifest": update.manifest,
                        "state": update.state,
                        "speaks": speaks,
                        "reason": update.reason,
                        "detail": update.detail,
                    }
                    rows.append(row)
            finally:
                ledger.close()
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for row in rows:
        where = " ".join(row["speaks"]) or "-"
        why = ": ".join(str(row[key]) for key in ("reason", "detail") if row[key])
        typer.echo(f"{row['pack']:24} {row['state']:12} {where}  {why}".rstrip())
    if not rows:
        typer.echo("no pack came to this box; the starter pack speaks", err=True)


@packs.command("install")
def install_pack(
    directory: Annotated[Path, typer.Argument(help="The signed pack's folder.")],
    data: Data = None,
) -> None:
    """Check a signed pack, let it speak its golden phrases, and take it into use."""
    from edge.ota.depot import Depot
    from edge.ota.folder import install
    from edge.ota.keys import trusted_keyring
    from edge.ota.ledger import Ledger
    from edge.ota.trial import try_out
    from edge.ota.updater import Updater
    from edge.packs import own_directories

    log.set_up("warning")
    with _clearly():
        folder = _data(data)
        keyring = trusted_keyring(folder)
        ledger = Ledger(folder / "ota.db")
        try:
            ledger.wait_open()
            depot = Depot(folder / "packs")
            updater = Updater(ledger, depot, try_out, own_directories(_settings().pack))
            loaded = install(directory, keyring, updater, patience_s=PATIENCE_S)
        finally:
            ledger.close()
    if loaded is None:
        typer.echo(f"{directory}: this pack speaks already", err=True)
        return
    voices, dialects = loaded.voice.voices, loaded.voice.dialects
    typer.echo(
        f"{loaded.name} speaks {', '.join(dialects)} as {', '.join(voices)}", err=True
    )


@packs.command("remove")
def remove_pack(
    pack: Annotated[str, typer.Argument(help="name@version, or the name.")],
    data: Data = None,
) -> None:
    """Take a pack out of use; what spoke before it speaks again."""
    from edge.ota.depot import Depot
    from edge.ota.ledger import Ledger
    from edge.ota.trial import try_out
    from edge.ota.updater import Updater

    with _clearly():
        folder = _data(data)
        ledger = Ledger(folder / "ota.db")
        try:
            ledger.wait_open()
            updater = Updater(ledger, Depot(folder / "packs"), try_out)
            with updater.depot.lock(PATIENCE_S):
                removed = updater.remove(pack)
        finally:
            ledger.close()
    typer.echo(f"{removed.label} is out of use", err=True)


@contextmanager
def _clearly() -> Iterator[None]:
    """Turn errors that a caller can mend into one line and exit code 2."""
    try:
        yield
    except YaoheError as error:
        reason = (error.data or {}).get("reason", error.code)
        _complain(f"{reason}: {error.message}")
    except DatabaseGone as error:
        _complain(f"the box's database: {error}")
    except OSError as error:
        _complain(f"{error.filename or 'the system'}: {error.strerror or error}")


def _complain(line: str) -> None:
    typer.echo(f"yaohe-edge: {' '.join(line.splitlines())}", err=True)
    raise typer.Exit(BAD_INPUT)


def _data(given: Path | None) -> Path:
    """The box's data folder: from the command line, else from the environment."""
    return given if given is not None else _settings().data


def _settings() -> EdgeSettings:
    """Settings from the environment."""
    try:
        return EdgeSettings()
    except ValidationError as refusal:
        raise settings_error(refusal, "edge") from None
