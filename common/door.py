"""The web server's own refusals, in the shape of all others."""

from __future__ import annotations

import json
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from common.errors import YaoheError

_Protocol: Any = AutoHTTPProtocol


class Door(_Protocol):  # type: ignore[misc]
    """Speaks HTTP; what is no HTTP is answered as a JSON error too.

    Give it to the server as ``http=Door``.
    """

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no request, and hang up.

        Args:
            msg: What the parser did not like; said in its words, so not passed on.
        """
        error = YaoheError("invalid_request", "this is no HTTP request")
        body = json.dumps(error.as_body()).encode()
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()
