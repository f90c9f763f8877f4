"""Chunks over HTTP, where the broker's line brings none: ranges, carefully.

Rules of this module:

* ``If-Range`` names the blob by its strong ETag: bytes of another content are never
  appended to ours. 200 instead of 206 means the whole content from its beginning.
* A part begins where ``Content-Range`` says, and it must say what was asked for.
* 416 says that we have everything only where the whole length is ours.
* Nothing here is trusted: the blob's digest is checked by whoever adopts it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import httpx

from common.errors import YaoheError
from common.protocol.repair import CHUNK_BYTES

TIMEOUT_S = 20.0
_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")
_WHOLE = re.compile(r"bytes \*/(\d{1,15})")

Take = Callable[[int, bytes], Awaitable[None]]
"""Receives a chunk's number and its bytes."""


async def fetch_range(
    client: httpx.AsyncClient,
    cloud: str,
    blob: tuple[str, int],
    run: tuple[int, int],
    take: Take,
) -> None:
    """Fetch chunks of a blob.

    Args:
        client: Who asks.
        cloud: Address of the cloud.
        blob: SHA-256 of the blob, hex, and its length in bytes.
        run: First and last chunk that are missing.
        take: Receives what comes; what came before a failure stays.

    Raises:
        YaoheError: ``not_ready``: the cloud cannot be reached, or answers otherwise
            than it must.
    """
    sha256, size = blob
    begin = run[0] * CHUNK_BYTES
    end = min(size, (run[1] + 1) * CHUNK_BYTES) - 1
    headers = {
        "Range": f"bytes={begin}-{end}",
        "If-Range": f'"{sha256}"',
        # Ranges of compressed bytes would be ranges of something else.
        "Accept-Encoding": "identity",
    }
    url = f"{cloud.rstrip('/')}/v1/blobs/{sha256}"
    try:
        async with client.stream("GET", url, headers=headers) as answer:
            place = _start(answer, begin, size)
            if place is not None:
                await _take_in(answer, place, size, take)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise YaoheError("not_ready", f"the cloud does not answer: {error}") from None


def _start(answer: httpx.Response, begin: int, size: int) -> int | None:
    """Where in the blob the answer's bytes begin; None if there are none to take."""
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise _odd(f"bytes encoded as {encoding}")
    said = answer.headers.get("Content-Range", "")
    if answer.status_code == httpx.codes.OK:
        return 0
    if answer.status_code == httpx.codes.PARTIAL_CONTENT:
        match = _RANGE.fullmatch(said)
        if match is None or int(match[1]) != begin or match[3] not in (str(size), "*"):
            raise _odd(f"the range {said!r}")
        return begin
    if answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
        match = _WHOLE.fullmatch(said)
        if match is not None and int(match[1]) == size == begin:
            return None
        raise _odd(f"no such range of {said!r}")
    raise _odd(f"status {answer.status_code}")


async def _take_in(answer: httpx.Response, place: int, size: int, take: Take) -> None:
    """Cut the bytes into chunks; an unfinished last one is asked for again."""
    held = bytearray()
    async for some in answer.aiter_raw(CHUNK_BYTES):
        held += some
        if place + len(held) > size:
            raise _odd("more bytes than there are")
        while held and (len(held) >= CHUNK_BYTES or place + len(held) == size):
            chunk = bytes(held[:CHUNK_BYTES])
            await take(place // CHUNK_BYTES, chunk)
            del held[:CHUNK_BYTES]
            place += len(chunk)


def _odd(what: str) -> YaoheError:
    return YaoheError("not_ready", f"the cloud answered with {what}")
