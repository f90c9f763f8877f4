"""The box as a server: ``yaohe-edge run``."""

from __future__ import annotations

import typer
import uvicorn

from common import log
from common.door import Door
from common.listening import announcement, listen
from common.protocol.stream import MAX_CONTROL_BYTES
from edge.api.app import create_app
from edge.service import Service
from edge.settings import EdgeSettings

GOODBYE_S = 5
"""Seconds that running answers get when the box stops."""


def serve(settings: EdgeSettings) -> None:
    """Answer until stopped.

    Args:
        settings: What the box is told.

    Raises:
        YaoheError: ``invalid_request`` where the address cannot be listened on.
    """
    log.set_up(settings.log.level, settings.log.form)
    listening = listen(settings.http.host, settings.http.port)
    # A program that started the box reads its address here.
    typer.echo(f"yaohe-edge answers on {announcement(listening)}")
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(Service(settings, connects=True)),
            http=Door,
            log_config=None,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=settings.http.keep_alive_s,
            timeout_graceful_shutdown=GOODBYE_S,
            ws_max_size=MAX_CONTROL_BYTES,
            ws_per_message_deflate=False,
        )
    )
    server.run(sockets=[listening])
