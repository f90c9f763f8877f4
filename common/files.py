"""Files that survive a power cut, and the folders that data lives in.

A file is written beside its place, synced, renamed over it, and the folder is synced:
after a crash a reader finds the old content or the new one, never half.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

PRIVATE = 0o600
SHARED = 0o644
DIRECTORY = 0o755

TEMPORARY_SUFFIX = ".part"
"""Ends the name of a file that is not finished; whoever finds one may delete it."""


def sync_directory(directory: Path) -> None:
    """Make the names inside a folder durable.

    Args:
        directory: An existing folder.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Create a folder with its parents, durably.

    Args:
        directory: The folder; it may exist.
    """
    missing = []
    place = directory
    while not place.exists():
        missing.append(place)
        place = place.parent
    for each in reversed(missing):
        each.mkdir(mode=DIRECTORY, exist_ok=True)
        sync_directory(each.parent)


def write_atomic(
    path: Path, content: bytes | Iterable[bytes], *, mode: int = SHARED
) -> None:
    """Replace a file's content, all of it or nothing.

    Args:
        path: The file; its folder exists.
        content: The new content, or its parts in order.
        mode: Permission bits of the new file.

    Raises:
        OSError: The disk is full or refuses; the old content still stands, and nothing
            is left beside it.
    """
    parts = (content,) if isinstance(content, bytes) else content
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY_SUFFIX
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def edge_data() -> Path:
    """Where a box keeps its state when ``YAOHE_EDGE_DATA`` does not say."""
    return _state("edge")


def cloud_data() -> Path:
    """Where the cloud keeps its state when ``YAOHE_CLOUD_DATA`` does not say."""
    return _state("cloud")


def distill_data() -> Path:
    """Where corpora and checkpoints go when ``YAOHE_DISTILL_DATA`` does not say."""
    return Path.home() / ".cache" / "yaohe" / "distill"


def _state(tier: str) -> Path:
    """The state folder of a tier: the system's for root, else the user's."""
    if os.geteuid() == 0:
        return Path(f"/var/lib/yaohe-{tier}")
    return Path.home() / ".local" / "state" / "yaohe" / tier
