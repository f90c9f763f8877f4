"""Kokoro's files from the public model hub, for those who reach it.

The files are those of the hub's ``onnx-community/Kokoro-82M-v1.0-ONNX``; the digests
are the same as for every other source. An interrupted file goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from cloud.engine.kokoro import assets
from common.errors import YaoheError

HUB = "https://huggingface.co"
REPOSITORY = "onnx-community/Kokoro-82M-v1.0-ONNX"

TIMEOUT_S = 60.0
"""Silence of the hub that is borne, seconds."""
MAX_FILE_BYTES = 200 << 20
"""A file that grows beyond this is not what we asked for."""
STEP_PERCENT = 20
"""How often progress is told."""


def address(path: Path, base: str = HUB) -> str:
    """Where a file lies on the hub.

    Args:
        path: Where it goes here.
        base: The hub, or a mirror of it.

    Returns:
        Its address.
    """
    is_graph = path.name == assets.MODEL_FILE
    name = "onnx/model_quantized.onnx" if is_graph else f"voices/{path.name}"
    return f"{base}/{REPOSITORY}/resolve/main/{name}"


def fetch(
    directory: Path,
    missing: dict[Path, str],
    say: Callable[[str], object],
    *,
    base: str = HUB,
) -> None:
    """Download files one after another.

    Args:
        directory: Kokoro's folder.
        missing: Digests of the files to get, by path in the folder.
        say: Told what happens.
        base: The hub, or a mirror of it.

    Raises:
        YaoheError: ``not_found`` where the hub does not give a file, ``pack_invalid``
            where it gives another one.
    """
    with httpx.Client(timeout=TIMEOUT_S, follow_redirects=True) as client:
        for path, sha in missing.items():
            name = path.relative_to(directory)
            url = address(path, base)
            say(f"{name} from {url} ...")
            part = path.with_name(f"{path.name}.part")
            try:
                _download(client, url, part, lambda done: say(f"  {done} %"))
            except httpx.HTTPError as error:
                raise YaoheError("not_found", f"{url}: {error}") from error
            if assets.digest(part) != sha:
                part.unlink()
                raise YaoheError("pack_invalid", f"{url} is not the file that we know")
            part.replace(path)


def _download(
    client: httpx.Client, url: str, part: Path, tell: Callable[[int], object]
) -> None:
    """Bring a file, going on where an earlier try stopped."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers=headers) as answer:
        if have and answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            # Everything is here already; the digest decides.
            return
        answer.raise_for_status()
        if answer.status_code != httpx.codes.PARTIAL_CONTENT:
            have = 0
        total = have + int(answer.headers.get("Content-Length", 0))
        told = 0
        with part.open("ab" if have else "wb") as file:
            for block in answer.iter_bytes():
                have += len(block)
                if have > MAX_FILE_BYTES:
                    raise YaoheError("pack_invalid", f"{url} is far too large")
                file.write(block)
                done = have * 100 // total if total else 0
                if done >= told + STEP_PERCENT:
                    told = done - done % STEP_PERCENT
                    tell(told)
