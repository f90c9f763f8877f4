"""The player page: a browser in the shop that speaks what the box streams."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

WEB = Path(__file__).resolve().parents[1] / "web"

router = APIRouter()
_route = partial(router.api_route, methods=["GET", "HEAD"], include_in_schema=False)


@_route("/player")
async def page() -> FileResponse:
    """The page."""
    return FileResponse(WEB / "player.html", media_type="text/html")


@_route("/player.js")
async def script() -> FileResponse:
    """Its program."""
    return FileResponse(WEB / "player.js", media_type="text/javascript")


@_route("/player.css")
async def style() -> FileResponse:
    """Its looks."""
    return FileResponse(WEB / "player.css", media_type="text/css")
