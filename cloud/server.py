"""The web server around the application."""

from __future__ import annotations

import typer
import uvicorn

from cloud.api.app import create_app
from cloud.engine.base import Engine
from cloud.settings import CloudSettings
from common.door import Door
from common.listening import announcement, listen
from common.protocol.stream import MAX_CONTROL_BYTES


def run(engine: Engine, settings: CloudSettings) -> None:
    """Serve until told to stop.

    Args:
        engine: What speaks.
        settings: The cloud's settings.

    Raises:
        YaoheError: The address is taken, or the engine cannot be loaded.
    """
    listening = listen(settings.http.host, settings.http.port)
    # A program that started the cloud reads its address here.
    typer.echo(f"yaohe-cloud answers on {announcement(listening)}")
    server: uvicorn.Server | None = None

    def give_up() -> None:
        if server is not None:
            server.should_exit = True

    is_debugged = settings.log.level == "debug"
    app = create_app(engine, settings, give_up)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=Door,
            # Our own logging is set up already.
            log_config=None,
            log_level="info" if is_debugged else "warning",
            access_log=is_debugged,
            timeout_graceful_shutdown=settings.http.goodbye_s,
            server_header=False,
            ws_max_size=MAX_CONTROL_BYTES,
            ws_per_message_deflate=False,
        )
    )
    server.run(sockets=[listening])
    if app.state.failure is not None:
        raise app.state.failure
