"""The player page: a browser in the shop that speaks what the box streams."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

WEB = Path(__file__).resolve().parents[1] / "web"

router = APIRouter()


@router.get("/player", include_in_schema=False)
async def page() -> FileResponse:
    """The page."""
    return FileResponse(WEB / "player.html", media_type="text/html")


@router.get("/player.js", include_in_schema=False)
async def script() -> FileResponse:
    """Its program."""
    return FileResponse(WEB / "player.js", media_type="text/javascript")


@router.get("/player.css", include_in_schema=False)
async def style() -> FileResponse:
    """Its looks."""
    return FileResponse(WEB / "player.css", media_type="text/css")
