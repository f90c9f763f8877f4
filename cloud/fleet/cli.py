"""Verbs of the fleet: ``yaohe-cloud boxes | phrases | packs``.

They work on the cloud's data folder, beside a running service or without one; what the
service has to do is left in the database, and it sees it at once. Heavy imports happen
inside the verbs.
"""

from __future__ import annotations

import sqlite3
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from common.errors import YaoheError, quoted
from common.protocol.synthesis import DEFAULT_DIALECT, DEFAULT_VOICE
from common.settings import settings_error

if TYPE_CHECKING:
    from cloud.fleet.boxes import BoxRow
    from cloud.fleet.office import Office
    from cloud.fleet.rendering import Wish, Wishes

WAIT_S = 60
LOOK_S = 0.2
LACKS = {
    "disk": "its disk is nearly full",
    "cache": "its cache is full",
    "closed": "its cache cannot be used",
    "refused": "what came cannot be kept",
}
"""Why a box lacks phrases for good, by the word that it sends."""

boxes = typer.Typer(help="The boxes of the chain.", no_args_is_help=True)
phrases = typer.Typer(help="Phrases that every shop has.", no_args_is_help=True)
packs = typer.Typer(help="Signed voices for the boxes.", no_args_is_help=True)

Groups = Annotated[
    list[str] | None, typer.Option("--group", help="A group it is in; may be repeated.")
]


def _office(*, begins: bool = False) -> Office:
    """The office of this cloud.

    Args:
        begins: Whether one is made where there is none. Only what founds a chain does
            so: a look must not leave an authority behind.
    """
    from cloud.fleet.office import Office
    from cloud.settings import CloudSettings

    try:
        settings = CloudSettings()
    except ValidationError as refusal:
        raise settings_error(refusal, "cloud") from None
    if not begins and not (settings.data / "fleet" / "fleet.db").exists():
        raise YaoheError(
            "not_ready",
            f"there is no chain in {settings.data}; begin with `yaohe-distill keygen "
            "KEYS` and `yaohe-cloud packs trust KEYS`",
        )
    try:
        return Office(settings.data, settings.fleet)
    except (OSError, sqlite3.Error) as error:
        raise YaoheError(
            "not_ready", f"the fleet's data in {settings.data}: {error}"
        ) from None


@boxes.command("invite")
def invite(
    box: Annotated[str, typer.Argument(help="The box's name, such as shop-312.")],
    group: Groups = None,
) -> None:
    """Make a claim code for a new or replaced box.

    On the box: yaohe-edge enrol CODE --cloud http://THIS-MACHINE:8700
    """
    office = _office()
    office.repository.root()
    typer.echo(str(office.boxes.invite(box, group or ())))


@boxes.command("list")
def list_boxes(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every box: whether it is there, when last seen, what it has and spoke."""
    import json
    from dataclasses import asdict

    rows = _office().boxes.list()
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    if not rows:
        typer.echo("no box yet; invite one: yaohe-cloud boxes invite NAME", err=True)
    for row in rows:
        seen = _when(row.seen) if row.seen else "never"
        tiers = " ".join(f"{tier} {n}" for tier, n in sorted(row.tiers.items()))
        facts = [
            f"{row.box:24} {'up  ' if row.is_up else 'gone'}  seen {seen:20}",
            f"{row.software:8} phrases {row.phrases:<5} {' '.join(row.packs)}",
            tiers,
            "CLOCK WRONG" if row.clock_suspect else "",
            f"{row.dropped} REPORTS GIVEN UP" if row.dropped else "",
            _lack(row),
            "TWO MACHINES USE THIS NAME: enrol one anew" if row.doubled else "",
        ]
        typer.echo("  ".join(fact for fact in facts if fact.strip()))


@boxes.command("remove")
def remove_box(
    box: Annotated[str, typer.Argument(help="The box's name.")],
) -> None:
    """Shut a box out: the broker turns it away, whatever certificate it has."""
    office = _office()
    office.boxes.remove(box)
    office.prepare_broker()


@boxes.command("broker")
def broker() -> None:
    """Write Mosquitto's configuration and print its path.

    Then: mosquitto -c PATH. It is rewritten by itself whenever a box enrols.
    """
    typer.echo(str(_office(begins=True).prepare_broker()))


@phrases.command("add")
def add_phrase(
    text: Annotated[str, typer.Argument(help="What every shop shall have.")],
    voice: Annotated[str, typer.Option(help="Who speaks.")] = DEFAULT_VOICE,
    dialect: Annotated[str, typer.Option(help="zh, gd or sc.")] = DEFAULT_DIALECT,
    scope: Annotated[
        str, typer.Option(help="all, or g/NAME for a group of boxes.")
    ] = "all",
    wait_s: Annotated[
        int, typer.Option(help="Seconds to wait for the rendering; 0 does not wait.")
    ] = WAIT_S,
) -> None:
    """Have a phrase rendered in the best voice and sent to the boxes.

    A running `yaohe-cloud serve` renders it.
    """
    from cloud.fleet.rendering import Wishes

    office = _office()
    office.repository.root()
    wishes = Wishes(office.db)
    number = wishes.add(text, voice=voice, dialect=dialect, scope=scope)
    wish = _settled(wishes, number, wait_s)
    if wish.state == "refused":
        raise YaoheError("invalid_request", f"not rendered: {wish.error}")
    typer.echo(wish.key or f"waits as number {number} for a running cloud")


@phrases.command("list")
def list_phrases() -> None:
    """Show the phrases that shops should have, the newest first."""
    for row in _office().catalogue.phrases():
        typer.echo(f"{row.key}  {row.scope:8} {row.voice} {row.dialect}  {row.text}")


@phrases.command("remove")
def remove_phrase(
    key: Annotated[str, typer.Argument(help="The phrase key, from `phrases list`.")],
    scope: Annotated[str, typer.Option(help="Whose boxes have it.")] = "all",
) -> None:
    """Take a phrase out of every box's cache."""
    try:
        digest = bytes.fromhex(key)
    except ValueError:
        raise YaoheError("invalid_request", "a phrase key is 32 hex digits") from None
    _office().catalogue.remove(scope, digest)


@packs.command("trust")
def trust(
    keys: Annotated[
        Path, typer.Argument(help="Folder of `yaohe-distill keygen`, or a copy of it.")
    ],
) -> None:
    """Take up the chain's trust: its signed metadata, and the keys of online roles.

    The offline keys are not needed here and are better left where they are. Run it
    again when there is new metadata.
    """
    _office(begins=True).repository.found(keys)
    typer.echo("trusted")


@packs.command("publish")
def publish(
    pack: Annotated[Path, typer.Argument(help="Folder of a signed pack.")],
    scope: Annotated[
        str, typer.Option(help="all, or g/NAME for a group of boxes.")
    ] = "all",
) -> None:
    """Have the boxes of a scope install a signed pack.

    Its signature must be among the metadata that `packs trust` took up. A pack that
    failed on a box is tried again there when it is published again.
    """
    from cloud.fleet.packs import FleetPacks

    office = _office()
    fleet_packs = FleetPacks(
        office.jobs, office.blobs, office.repository, office.settings.chain
    )
    offer = fleet_packs.publish(pack)
    fleet_packs.want(scope, offer)
    typer.echo(offer.sha256)


def _settled(wishes: Wishes, number: int, wait_s: int) -> Wish:
    deadline = time.monotonic() + wait_s
    while True:
        wish = wishes.find(number)
        if wish.state != "waiting" or time.monotonic() >= deadline:
            return wish
        time.sleep(LOOK_S)


def _lack(row: BoxRow) -> str:
    """What a box lacks of what was announced; empty where it has all."""
    if not row.lacking:
        return ""
    if row.lacking_why == "coming":
        return f"{row.lacking} phrases are coming"
    # A later box may know reasons that nobody here does.
    why = LACKS.get(row.lacking_why, quoted(row.lacking_why))
    return f"{row.lacking} PHRASES LACKING: {why}"


def _when(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
