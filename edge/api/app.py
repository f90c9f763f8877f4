"""The box's application: routes around one service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import Depends, FastAPI
from fastapi.middleware.cors import CORSMiddleware

from common.responses import EXPOSED_HEADERS
from common.sessions import Sessions
from common.streaming.figures import StreamFigures
from common.version import VERSION
from edge.api import errors, health, listing, pages, player, speech, stream
from edge.api.guard import require_speaker
from edge.service import Service


def create_app(service: Service) -> FastAPI:
    """Build the application.

    Args:
        service: The box; started and stopped with the application.

    Returns:
        An application.
    """
    app = FastAPI(
        title="Yaohe box",
        version=VERSION,
        lifespan=_lifespan,
        # Their pages load scripts from the internet, which a shop may not have.
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.state.sessions = Sessions()
    figures = StreamFigures("yaohe_edge", app.state.sessions)
    service.metrics.registry.register(figures)
    # A page of another origin may listen; it may not make the box work by POST.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "HEAD"],
        allow_headers=["Range", "If-None-Match"],
        expose_headers=EXPOSED_HEADERS,
    )
    errors.install(app)
    app.include_router(speech.router, dependencies=[Depends(require_speaker)])
    for room in (stream, listing, health, pages, player):
        app.include_router(room.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service = cast(Service, app.state.service)
    await service.start()
    try:
        yield
    finally:
        app.state.sessions.close()
        await service.stop()
