"""Small JSON files in which a step says what it did, for the next run to read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.files import make_directory, write_atomic

_BLOCK_BYTES = 1 << 20


def read_note(path: Path) -> dict[str, Any]:
    """Read a note.

    Args:
        path: The file.

    Returns:
        What it says; nothing where it is missing or broken.
    """
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def write_note(path: Path, values: Mapping[str, Any]) -> None:
    """Write a note, all of it or nothing.

    Args:
        path: The file; its folder is made.
        values: Plain JSON.
    """
    make_directory(path.parent)
    text = json.dumps(values, ensure_ascii=False, indent=1) + "\n"
    write_atomic(path, text.encode())


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
