"""Random assets that are made once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from tests.tools import make_random_assets


def kept(size: str) -> Path:
    """Random assets with seed 0; full size takes half a minute the first time.

    Args:
        size: ``full`` or ``tiny``.

    Returns:
        Their folder: ``$XDG_CACHE_HOME/yaohe/random-assets/SIZE-DIGEST``, where the
        digest is that of the program that makes them.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = Path(make_random_assets.__file__).read_bytes()
    name = f"{size}-{hashlib.sha256(program).hexdigest()[:12]}"
    folder = cache / "yaohe" / "random-assets" / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            make_random_assets.build(made, size)
            # Whole or not at all, also where two make it at the same time.
            if not folder.is_dir():
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return folder
