"""How the two sides of a worker's line are set: limits, signs of life, certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from cloud.settings import WorkerSettings
from cloud.worker.wire import MAX_ANSWER_BYTES, MAX_JOB_BYTES
from common.errors import YaoheError

PING_S = 10
"""Seconds of silence after which a side asks whether the other still lives."""
PONG_S = 5
"""Seconds that the other has for its answer; then the line is dead."""
MAX_RECONNECT_S = 2
"""Longest time between two tries to connect."""

_ALIVE = [
    ("grpc.keepalive_time_ms", PING_S * 1000),
    ("grpc.keepalive_timeout_ms", PONG_S * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
SERVER_OPTIONS: list[tuple[str, Any]] = [
    *_ALIVE,
    ("grpc.http2.min_ping_interval_without_data_ms", PONG_S * 1000),
    ("grpc.max_receive_message_length", MAX_JOB_BYTES),
    ("grpc.max_send_message_length", MAX_ANSWER_BYTES),
    # Two workers on one port would share the calls unseen.
    ("grpc.so_reuseport", 0),
]
CLIENT_OPTIONS: list[tuple[str, Any]] = [
    *_ALIVE,
    ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
    ("grpc.max_send_message_length", MAX_JOB_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", MAX_RECONNECT_S * 1000),
    # Whether a call is made again is decided where it is known what was heard.
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    # Each worker is one connection, however many services live in a process.
    ("grpc.use_local_subchannel_pool", 1),
]


def opened(address: str, settings: WorkerSettings) -> grpc.aio.Channel:
    """A channel to a worker; it connects when it is used.

    Args:
        address: HOST:PORT.
        settings: Names the certificates, if there are any.

    Returns:
        The channel.

    Raises:
        YaoheError: ``invalid_request`` for a file that cannot be read.
    """
    files = _files(settings)
    if files is None:
        return grpc.aio.insecure_channel(address, CLIENT_OPTIONS)
    certificate, key, authority = files
    credentials = grpc.ssl_channel_credentials(authority, key, certificate)
    return grpc.aio.secure_channel(address, credentials, CLIENT_OPTIONS)


def listening(server: grpc.aio.Server, settings: WorkerSettings) -> int:
    """Let a server listen; with certificates both sides must show theirs.

    Args:
        server: Not yet started.
        settings: Address and certificates.

    Returns:
        The port.

    Raises:
        YaoheError: ``invalid_request`` for an address that is taken or a file that
            cannot be read.
    """
    address = f"{settings.host}:{settings.port}"
    files = _files(settings)
    try:
        if files is None:
            return server.add_insecure_port(address)
        certificate, key, authority = files
        credentials = grpc.ssl_server_credentials(
            [(key, certificate)], authority, require_client_auth=True
        )
        return server.add_secure_port(address, credentials)
    except RuntimeError:
        raise YaoheError("invalid_request", f"cannot listen on {address}") from None


def _files(settings: WorkerSettings) -> tuple[bytes, bytes, bytes] | None:
    """Certificate, key and authority, if they are set."""
    if not (settings.certificate and settings.key and settings.authority):
        return None
    return (
        _read(settings.certificate),
        _read(settings.key),
        _read(settings.authority),
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise YaoheError("invalid_request", f"{path}: {error.strerror}") from None
