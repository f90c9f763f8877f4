"""Blobs over HTTP, where the broker's line brings none: small ones, whole.

Nothing here is trusted: the blob's digest is checked by whoever takes it.
"""

from __future__ import annotations

import logging

import httpx

from common.errors import YaoheError
from edge.sync.catalogue import CatalogueDesk

TIMEOUT_S = 20.0
MAX_LATE = 16
"""Blobs fetched at a time."""

log = logging.getLogger(__name__)


async def fetch_late(desk: CatalogueDesk, cloud: str, *, is_line_up: bool) -> None:
    """Fetch what was asked for over the line and did not come.

    Args:
        desk: What is wanted, and where it goes.
        cloud: Address of the cloud.
        is_line_up: Whether the line may still bring it.
    """
    late = desk.fetch.late(MAX_LATE, is_line_up=is_line_up)
    if not late:
        return
    async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
        for digest, limit in late:
            try:
                content = await fetch_whole(client, cloud, digest, limit)
            except YaoheError as error:
                log.info("a blob does not come over HTTP: %s", error.message)
                return
            await desk.take_whole(digest, content)


async def fetch_whole(
    client: httpx.AsyncClient, cloud: str, digest: str, limit: int
) -> bytes:
    """Fetch a blob.

    Args:
        client: Who asks.
        cloud: Address of the cloud.
        digest: Its SHA-256, hex.
        limit: Most bytes that are taken.

    Returns:
        What the cloud says are its bytes.

    Raises:
        YaoheError: ``not_ready``: the cloud cannot be reached, has no such blob, or
            sends more than the limit.
    """
    url = f"{cloud.rstrip('/')}/v1/blobs/{digest}"
    held = bytearray()
    try:
        # Its digest is of the bytes themselves, so none may be compressed on the way.
        headers = {"Accept-Encoding": "identity"}
        async with client.stream("GET", url, headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                raise YaoheError("not_ready", f"status {answer.status_code}")
            async for some in answer.aiter_raw():
                held += some
                if len(held) > limit:
                    raise YaoheError("not_ready", f"more than {limit} bytes")
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise YaoheError("not_ready", f"the cloud does not answer: {error}") from None
    return bytes(held)
