"""Pages for the shop: how the box is, and why it reads a text as it does."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse

from common.errors import YaoheError
from common.protocol.synthesis import (
    MAX_INPUT_CHARACTERS,
    mended,
    require_context,
)
from common.version import VERSION
from edge.api.deps import ServicePart
from edge.doctor import look
from edge.outside import Outside

WEB = Path(__file__).resolve().parents[1] / "web"

router = APIRouter()
_page = partial(router.api_route, methods=["GET", "HEAD"], include_in_schema=False)
"""A route of a page: who watches a box asks for its head."""


@_page("/")
async def status_page() -> FileResponse:
    """The status page."""
    return FileResponse(WEB / "status.html", media_type="text/html")


@_page("/reading")
async def reading_page() -> FileResponse:
    """The page that shows text and reading side by side."""
    return FileResponse(WEB / "reading.html", media_type="text/html")


@router.get("/v1/status")
async def status(service: ServicePart) -> dict[str, Any]:
    """Say what the doctor knows about this box, and what it has done."""
    checks = await asyncio.to_thread(look, service.settings, service.clock)
    outside = await asyncio.to_thread(Outside.of, service)
    checks += outside.checks(service.settings)
    stage, cache = service.stage, service.cache
    stats = cache.stats() if cache is not None else None
    return {
        "version": VERSION,
        "uptime_s": round(time.monotonic() - service.started, 1),
        "ready": service.is_ready,
        "failure": service.failure,
        "packs": [
            {"name": p.name, "sha256": p.sha256, "quality": p.quality}
            for p in service.packs.loaded
        ],
        "voices": service.repertoire,
        "tiers": dict(service.tiers),
        "cache": {
            "phrases": stats.renditions if stats else 0,
            "bytes": stats.size_bytes if stats else 0,
        },
        "speaking": stage.active,
        "rtf": round(stage.busy_s / stage.made_s, 4) if stage.made_samples else None,
        **outside.as_dict(),
        "checks": [check.as_dict() for check in checks],
    }


@router.get("/v1/reading")
async def reading(
    service: ServicePart,
    text: str | None = None,
    asked: Annotated[str | None, Query(alias="input")] = None,
    dialect: str = "zh",
    context: str = "",
    ssml: bool = False,
) -> dict[str, Any]:
    """Read a text and say why it is read so; nothing is spoken.

    The text is ``text``, or ``input`` as where it is spoken.
    """
    text = text if text is not None else asked or ""
    if not text.strip():
        raise YaoheError("nothing_to_say", "text is blank", param="text")
    if len(text) > MAX_INPUT_CHARACTERS:
        raise YaoheError(
            "input_too_long",
            f"text is longer than {MAX_INPUT_CHARACTERS} characters",
            param="text",
        )
    require_context(context)
    found = await service.readings.read(
        mended(text), dialect, context=context, ssml=ssml
    )
    return {"text": found.reading.text, "dialect": dialect, **found.reading.as_dict()}
