"""Taking a port before anything is loaded: a taken one is one clear line."""

from __future__ import annotations

import socket

from common.errors import YaoheError

BACKLOG = 512
"""Connections that may wait to be accepted."""

_ANY = ("0.0.0.0", "::")  # noqa: S104 - compared, never bound


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address.

    Args:
        host: Name or address of this machine.
        port: Port; 0 takes a free one.

    Returns:
        A listening socket.

    Raises:
        YaoheError: ``invalid_request`` where the address cannot be listened on.
    """
    listening: socket.socket | None = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        if listening is not None:
            listening.close()
        raise YaoheError(
            "invalid_request", f"cannot listen on {host}:{port}: {error.strerror}"
        ) from None
    return listening


def address(listening: socket.socket) -> str:
    """The address under which this machine reaches the socket.

    Args:
        listening: A listening socket.

    Returns:
        Such as ``http://127.0.0.1:8700/``.
    """
    host, port = listening.getsockname()[:2]
    if host in _ANY:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
