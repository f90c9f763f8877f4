"""What a link is told, and what it says when it cannot."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

DAY_S = 24 * 3600

KEEPALIVE_S = 30
"""Seconds of silence after which a side that is gone is noticed."""
SESSION_EXPIRY_S = 3 * DAY_S
"""How long the broker keeps a session whose box is away."""
CONNECT_TIMEOUT_S = 10.0
"""Until TCP, TLS and the broker's answer are done."""
MAX_UNACKNOWLEDGED = 8
"""Messages the broker sends ahead of our acknowledgements."""
MAX_OUTSTANDING = 20
"""Messages we send ahead of the broker's acknowledgements."""
MAX_UNDELIVERED = 1024
"""Received messages that wait for their reader; above it those of QoS 0 are dropped,
while the broker itself holds back those of QoS 1."""
BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 120.0
STABLE_S = 60.0
"""A connection that lived shorter does not reset the back-off: two boxes with one id
throw each other out, ever more rarely."""


class LinkDown(Exception):
    """There is no connection now, or it broke before the broker's acknowledgement."""


class PublishRefused(Exception):
    """The broker will not take a message, whenever it is sent again."""


class Farewell(NamedTuple):
    """What one connection says first, and what the broker says when it is gone.

    Attributes:
        topic: Where both are published, retained.
        birth: Said once connected.
        will: Said by the broker, or by us when we leave.
    """

    topic: str
    birth: bytes
    will: bytes


@dataclass(frozen=True)
class LinkOptions:
    """How to reach a broker.

    Attributes:
        host: Its address.
        port: Its port.
        client: Our client id.
        tls: Gives the context with our certificate, for each connection anew, since a
            clock may have been set right; None only on a loopback without TLS.
        mqtt5: Speak MQTT 5; without it 3.1.1, which serves as well.
        keepalive_s: Seconds between signs of life.
        session_expiry_s: Seconds that the broker keeps our session.
        connect_timeout_s: Seconds until a try is given up.
        backoff_first_s: Longest wait before the second try, seconds.
        backoff_max_s: Longest wait between any tries, seconds.
        stable_s: Seconds after which a connection counts as a success.
    """

    host: str
    port: int
    client: str
    tls: Callable[[], ssl.SSLContext] | None = None
    mqtt5: bool = True
    keepalive_s: int = KEEPALIVE_S
    session_expiry_s: int = SESSION_EXPIRY_S
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    backoff_first_s: float = BACKOFF_FIRST_S
    backoff_max_s: float = BACKOFF_MAX_S
    stable_s: float = STABLE_S
