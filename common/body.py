"""The body of a call: from bytes to a JSON object, whatever a client sends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Mapping

from common.errors import YaoheError

MAX_BODY_BYTES = 1 << 20
"""Largest request body, bytes; the longest text in escaped JSON fits well."""


async def read_body(parts: AsyncIterable[bytes]) -> bytes:
    """Read a request's body up to its limit.

    Args:
        parts: The body as it arrives.

    Returns:
        The body.

    Raises:
        YaoheError: ``invalid_request`` as soon as the body is too large.
    """
    raw = bytearray()
    async for part in parts:
        raw += part
        if len(raw) > MAX_BODY_BYTES:
            raise too_large()
    return bytes(raw)


def too_large() -> YaoheError:
    """The error for a body that need not be read to its end."""
    return YaoheError(
        "invalid_request", f"the body is larger than {MAX_BODY_BYTES} bytes"
    )


def parse_json(raw: bytes) -> Mapping[str, object]:
    """Read a request body.

    Args:
        raw: The body as received.

    Returns:
        The JSON object in it.

    Raises:
        YaoheError: ``invalid_request``: too large, not JSON, or not an object.
    """
    if len(raw) > MAX_BODY_BYTES:
        raise too_large()
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        # A UnicodeDecodeError is a ValueError; nesting bombs end as RecursionError.
        raise YaoheError("invalid_request", "the body is not valid JSON") from error
    if not isinstance(values, dict):
        raise YaoheError("invalid_request", "the body is not a JSON object")
    return values
