"""The cloud's application: where its parts are put together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from cloud.api import errors, health, jobs, listing, operators, speech, stream
from cloud.dispatch import Dispatch
from cloud.engine.base import Engine
from cloud.fleet import routes
from cloud.fleet.office import Office
from cloud.fleet.service import Fleet
from cloud.jobs.runner import JobRunner, own_folder
from cloud.metrics import Metrics
from cloud.settings import CloudSettings
from cloud.spare import Spare
from common.admission import Priority
from common.audio.containers import available_formats
from common.errors import YaoheError
from common.receipts import ReceiptBook
from common.responses import EXPOSED_HEADERS
from common.sessions import Sessions
from common.streaming.figures import StreamFigures
from common.text import LexiconFile, read
from common.version import VERSION

_log = logging.getLogger(__name__)


def create_app(
    engine: Engine,
    settings: CloudSettings,
    give_up: Callable[[], object] = lambda: None,
) -> FastAPI:
    """Build the application.

    Args:
        engine: What speaks; started and stopped with the application.
        settings: The cloud's settings.
        give_up: Called when the engine cannot be loaded; ``state.failure`` says why.

    Returns:
        An application; its ``state`` holds the parts.
    """
    app = FastAPI(
        title="Yaohe cloud",
        version=VERSION,
        lifespan=_lifespan,
        # Their pages load scripts from the internet: /openapi.json says the same.
        docs_url=None,
        redoc_url=None,
    )
    app.state.metrics = Metrics()
    app.state.receipts = ReceiptBook(settings.cache.receipts_s, settings.cache.receipts)
    app.state.dispatch = Dispatch(
        engine, settings, app.state.metrics, app.state.receipts
    )
    app.state.jobs = JobRunner(
        own_folder(settings.data / "jobs"),
        settings.jobs,
        app.state.dispatch.speak,
        app.state.metrics,
    )
    app.state.sessions = Sessions()
    figures = StreamFigures("yaohe_cloud", app.state.sessions)
    app.state.metrics.registry.register(figures)
    app.state.failure = None
    app.state.give_up = give_up
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.http.origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=EXPOSED_HEADERS,
    )
    errors.install(app)
    for room in (speech, stream, jobs, listing, health):
        app.include_router(room.router)
    app.state.fleet = None
    if settings.fleet.enabled:
        app.state.office = Office(settings.data, settings.fleet)
        own = settings.lexicon
        app.state.fleet = Fleet(
            app.state.office,
            # In a shop somebody waits for a call; nobody waits for a rendering.
            partial(
                app.state.dispatch.speak, priority=Priority.BATCH, may_stand_in=False
            ),
            lexicon=LexiconFile(own) if own is not None else None,
            spare=Spare(settings, app.state.metrics, app.state.receipts),
        )
        app.include_router(routes.router)
        app.include_router(operators.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Load the engine while health is answered already; free it at the end."""
    engine: Engine = app.state.dispatch.engine
    loading = asyncio.create_task(_load(app, engine))
    fleet: Fleet | None = app.state.fleet
    if fleet is not None:
        fleet.start()
    try:
        yield
    finally:
        if fleet is not None:
            await fleet.stop()
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading
        await app.state.jobs.close()
        app.state.sessions.close()
        await engine.stop()


async def _load(app: FastAPI, engine: Engine) -> None:
    """Warm the reading up and load the engine; a failure shows in the health."""
    try:
        await asyncio.to_thread(read, "预热")
        await asyncio.to_thread(available_formats)
        await engine.start()
    except YaoheError as error:
        app.state.failure = error
    except Exception as error:  # noqa: BLE001 - a runtime may fail in any way
        _log.exception("the engine failed to load")
        app.state.failure = YaoheError("internal_error", f"cannot load: {error!r}")
    else:
        _log.info("ready", extra={"engine": engine.name})
    if app.state.failure is not None:
        app.state.give_up()
