"""The operators' page, and what stands behind it: boxes, phrases, a phrase for all.

Rules of this module:

* Whoever may push a phrase speaks in every shop. With a token set, the token is asked
  for; without one, only this machine itself may, and neither a page of another origin
  in its browser nor a proxy before the cloud counts as this machine.
* The page is empty without that: it can be served to anybody.
"""

from __future__ import annotations

import hmac
import ipaddress
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool

from cloud.fleet.boxes import BoxRow
from cloud.fleet.catalogue import PhraseRow
from cloud.fleet.office import Office
from cloud.fleet.rendering import Wishes
from common.body import parse_json, read_body
from common.errors import YaoheError, quoted
from common.protocol import topics
from common.protocol.cbor import decode
from common.protocol.rendition import SentRendition
from common.protocol.synthesis import DEFAULT_DIALECT, DEFAULT_VOICE

WEB = Path(__file__).resolve().parents[1] / "web"
MAX_LISTED = 1000
"""Phrases, and wishes, that one answer lists."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers that a proxy leaves: its caller is somewhere else."""
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; media-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def require_operator(request: Request, token: str | None) -> None:
    """Let only an operator pass.

    Args:
        request: The call.
        token: What an operator knows; None lets this machine itself pass.

    Raises:
        YaoheError: ``unauthorized``.
    """
    if token is None:
        if not _is_local(request):
            raise YaoheError(
                "unauthorized",
                "only this machine may do so; set YAOHE_CLOUD_FLEET__OPERATOR_TOKEN "
                "to work from elsewhere",
            )
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not is_right:
        raise YaoheError("unauthorized", "the operator's token is missing or wrong")


def _is_local(request: Request) -> bool:
    """Whether a call comes from this machine, and not through it."""
    headers = request.headers
    host = headers.get("host", "")
    origin = headers.get("origin")
    try:
        caller = ipaddress.ip_address(request.client.host if request.client else "")
        # A foreign name that was made to point here is a foreign page.
        is_named = urlsplit(f"//{host}").hostname in LOCAL_NAMES
        is_own_page = origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False
    mapped = getattr(caller, "ipv4_mapped", None) or caller
    is_direct = not any(name in headers for name in FORWARDED)
    return bool(mapped.is_loopback and is_named and is_own_page and is_direct)


async def _operator(request: Request) -> Office:
    office = cast(Office, request.app.state.office)
    token = office.settings.operator_token
    require_operator(request, token.get_secret_value() if token else None)
    return office


OfficePart = Annotated[Office, Depends(_operator)]

router = APIRouter()
_page = partial(router.api_route, methods=["GET", "HEAD"], include_in_schema=False)


@_page("/operators")
async def page() -> FileResponse:
    """The page."""
    return FileResponse(
        WEB / "operators.html", media_type="text/html", headers=PAGE_HEADERS
    )


@_page("/operators.js")
async def script() -> FileResponse:
    """Its program."""
    return FileResponse(
        WEB / "operators.js", media_type="text/javascript", headers=PAGE_HEADERS
    )


@_page("/operators.css")
async def style() -> FileResponse:
    """Its looks."""
    return FileResponse(
        WEB / "operators.css", media_type="text/css", headers=PAGE_HEADERS
    )


@router.get("/v1/fleet/boxes")
async def list_boxes(office: OfficePart) -> dict[str, Any]:
    """List the boxes: versions, packs, last seen, what each spoke."""
    rows = await run_in_threadpool(office.boxes.list)
    return {"now": int(time.time()), "boxes": [asdict(row) for row in rows]}


@router.get("/v1/fleet/phrases")
async def list_phrases(office: OfficePart) -> dict[str, Any]:
    """List the phrases that shops should have, and those not rendered yet."""
    rows = await run_in_threadpool(office.catalogue.phrases)
    boxes = await run_in_threadpool(office.boxes.list)
    wishes = await run_in_threadpool(Wishes(office.db).unfinished, MAX_LISTED)
    return {
        "count": len(rows),
        "phrases": [
            {**row._asdict(), "boxes": _told(row, boxes)} for row in rows[:MAX_LISTED]
        ],
        "wishes": [wish._asdict() for wish in wishes],
    }


@router.post("/v1/fleet/phrases", status_code=202)
async def push_phrase(request: Request, office: OfficePart) -> dict[str, Any]:
    """Have a phrase rendered and sent to every box of a scope."""
    values = parse_json(await read_body(request.stream()))
    asked = {
        "text": _string(values, "text", ""),
        "voice": _string(values, "voice", DEFAULT_VOICE),
        "dialect": _string(values, "dialect", DEFAULT_DIALECT),
        "scope": _string(values, "scope", topics.EVERYONE),
    }
    # Without trust there is nobody who would believe the phrase.
    await run_in_threadpool(office.repository.root)
    wishes = Wishes(office.db)
    number = await run_in_threadpool(lambda: wishes.add(**asked))
    return (await run_in_threadpool(wishes.find, number))._asdict()


@router.delete("/v1/fleet/phrases/{key}", status_code=204)
async def remove_phrase(
    key: str, office: OfficePart, scope: str = topics.EVERYONE
) -> None:
    """Take a phrase out of every box of a scope."""
    row = await run_in_threadpool(_find, office, scope, key)
    await run_in_threadpool(office.catalogue.remove, scope, bytes.fromhex(row.key))


@router.get("/v1/fleet/phrases/{key}/sound")
async def hear_phrase(
    key: str, office: OfficePart, scope: str = topics.EVERYONE
) -> Response:
    """The recording that boxes of a scope have, as Ogg Opus."""
    row = await run_in_threadpool(_find, office, scope, key)
    content = await run_in_threadpool(office.blobs.read, row.sha256)
    master = decode(SentRendition, content).master
    return Response(master, media_type="audio/ogg")


def _find(office: Office, scope: str, key: str) -> PhraseRow:
    for row in office.catalogue.phrases():
        if (row.scope, row.key) == (scope, key):
            return row
    raise YaoheError("not_found", f"no phrase {quoted(key)} in {quoted(scope)}")


def _told(phrase: PhraseRow, boxes: list[BoxRow]) -> list[str]:
    """Boxes that have taken in the change that brought a phrase."""
    return [
        box.box for box in boxes if box.catalogue.get(phrase.scope, 0) >= phrase.seq
    ]


def _string(values: Mapping[str, object], name: str, default: str) -> str:
    value = values.get(name, default)
    if not isinstance(value, str):
        raise YaoheError("invalid_request", f"{name} is not a string", param=name)
    return value
