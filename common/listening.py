"""Taking a port before anything is loaded: a taken one is one clear line."""

from __future__ import annotations

import socket

from common.errors import YaoheError

BACKLOG = 512
"""Connections that may wait to be accepted."""

_ANY = ("0.0.0.0", "::")  # noqa: S104 - compared, never bound
_ELSEWHERE = ("192.0.2.1", 9)
"""An address that documentation may use and nobody has (RFC 5737)."""


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
    return _url("127.0.0.1" if host in _ANY else host, port)


def announcement(listening: socket.socket) -> str:
    """Where a socket can be reached, for a person; its last word is for programs.

    Args:
        listening: A listening socket.

    Returns:
        Such as ``http://127.0.0.1:8700/``, or, where it listens on every address, that
        and the one that other machines use.
    """
    host, port = listening.getsockname()[:2]
    here = address(listening)
    if host not in _ANY:
        return here
    outer = _outer()
    such = f" (such as {_url(outer, port)})" if outer else ""
    return f"every address of this machine{such}, here on {here}"


def _outer() -> str | None:
    """This machine's address on its network, if it has one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        found: str = probe.getsockname()[0]
    return None if found in _ANY else found


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
