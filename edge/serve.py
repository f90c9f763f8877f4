"""The box as a server: ``yaohe-edge run``."""

from __future__ import annotations

import socket

import typer
import uvicorn

from common import log
from common.errors import YaoheError
from common.protocol.stream import MAX_CONTROL_BYTES
from edge.api.app import create_app
from edge.service import Service
from edge.settings import EdgeSettings

GOODBYE_S = 5
"""Seconds that running answers get when the box stops."""
BACKLOG = 512


def serve(settings: EdgeSettings) -> None:
    """Answer until stopped.

    Args:
        settings: What the box is told.

    Raises:
        YaoheError: ``invalid_request`` where the address cannot be listened on.
    """
    log.set_up(settings.log.level, settings.log.form)
    listening = _listen(settings.http.host, settings.http.port)
    host, port = listening.getsockname()[:2]
    name = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared
    # A program that started the box reads its address here.
    typer.echo(f"yaohe-edge answers on http://{name}:{port}/")
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(Service(settings)),
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


def _listen(host: str, port: int) -> socket.socket:
    """Take the port before anything is loaded: a taken one is one clear line."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        raise YaoheError(
            "invalid_request", f"cannot listen on {host}:{port}: {error.strerror}"
        ) from None
    return listening
