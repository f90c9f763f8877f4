"""Bytes by their digest: what travels to boxes, in files that never change."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from common.errors import YaoheError, quoted
from common.files import make_directory, write_atomic
from common.protocol.repair import CHUNK_BYTES

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """A folder of blobs."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; it is made with the first blob."""
        self._folder = folder

    def keep(self, content: bytes) -> str:
        """Keep a blob.

        Args:
            content: Its bytes.

        Returns:
            Its SHA-256, hex; on the disk when this returns.
        """
        digest = hashlib.sha256(content).hexdigest()
        place = self._place(digest)
        if not place.exists():
            make_directory(place.parent)
            write_atomic(place, content)
        return digest

    def drop(self, digest: str) -> None:
        """Forget a blob that nobody names any more."""
        self._place(digest).unlink(missing_ok=True)

    def path(self, digest: str) -> Path:
        """The file of a blob.

        Args:
            digest: Any string.

        Returns:
            Its file.

        Raises:
            YaoheError: ``not_found``: there is none of that name.
        """
        if _DIGEST.fullmatch(digest):
            place = self._place(digest)
            if place.is_file():
                return place
        raise YaoheError("not_found", f"no blob named {quoted(digest)}")

    def read(self, digest: str) -> bytes:
        """The bytes of a blob.

        Args:
            digest: Any string.

        Returns:
            Its bytes.

        Raises:
            YaoheError: ``not_found``: there is none of that name.
        """
        return self.path(digest).read_bytes()

    def chunk(self, digest: str, index: int) -> bytes:
        """One chunk of a blob.

        Args:
            digest: Any string.
            index: Its number, from 0.

        Returns:
            At most ``CHUNK_BYTES`` bytes; fewer, perhaps none, only at the end.

        Raises:
            YaoheError: ``not_found``: there is no such blob.
        """
        with self.path(digest).open("rb") as file:
            file.seek(index * CHUNK_BYTES)
            return file.read(CHUNK_BYTES)

    def _place(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest
