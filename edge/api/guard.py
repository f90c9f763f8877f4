"""Who may make the box speak, where the shop's network is not enough.

Without a token everybody on that network may. With one it is asked for: in the
``Authorization`` header, or, for devices and pages that only know addresses, as
``?token=`` in the query.
"""

from __future__ import annotations

import hmac
from typing import cast

from starlette.requests import HTTPConnection

from common.errors import YaoheError
from edge.service import Service


async def require_speaker(connection: HTTPConnection) -> None:
    """Let only those pass who may make this box speak.

    Args:
        connection: A call or a socket, not accepted yet.

    Raises:
        YaoheError: ``unauthorized``.
    """
    service = cast(Service, connection.app.state.service)
    token = service.settings.http.token
    if token is None:
        return
    scheme, _, shown = connection.headers.get("authorization", "").partition(" ")
    # A header's bytes come as Latin-1, whatever was written into them.
    given = shown.strip().encode("latin-1")
    if scheme.lower() != "bearer":
        given = connection.query_params.get("token", "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, token.get_secret_value().encode()):
        raise YaoheError("unauthorized", "the box's token is missing or wrong")
