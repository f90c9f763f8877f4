"""The web server around the application."""

from __future__ import annotations

import uvicorn

from cloud.api.app import create_app
from cloud.engine.base import Engine
from cloud.settings import CloudSettings


def run(engine: Engine, settings: CloudSettings) -> None:
    """Serve until told to stop.

    Args:
        engine: What speaks.
        settings: The cloud's settings.

    Raises:
        YaoheError: The engine cannot be loaded; a service manager may try again.
    """
    server: uvicorn.Server | None = None

    def give_up() -> None:
        if server is not None:
            server.should_exit = True

    app = create_app(engine, settings, give_up)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.http.host,
            port=settings.http.port,
            # Our own logging is set up already.
            log_config=None,
            access_log=settings.log.level == "debug",
            timeout_graceful_shutdown=settings.http.goodbye_s,
            server_header=False,
        )
    )
    server.run()
    if app.state.failure is not None:
        raise app.state.failure
