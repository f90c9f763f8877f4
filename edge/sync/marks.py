"""The highest versions that this box ever trusted, kept twice.

A database that was damaged is rebuilt empty; without these marks, metadata older than
what was trusted would count again. So they stand in a small file beside it too, and
whichever of the two knows more is right.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from common.errors import YaoheError
from common.files import write_atomic
from common.protocol.canonical import strict_object
from edge.sync.book import Book

MAX_FILE_BYTES = 64 * 1024
FLOOR = "signed_floor"
"""The latest time that was signed for; among the marks it is one more number."""

log = logging.getLogger(__name__)


class Marks:
    """Marks in the database and in a file."""

    def __init__(self, book: Book, path: Path) -> None:
        """Remember the places.

        Args:
            book: The database.
            path: The file; its folder exists once the database is open.
        """
        self._book = book
        self._path = path

    def versions(self) -> Mapping[str, int]:
        """The marks now."""
        known = dict(self._filed())
        for name, version in self._book.versions().items():
            known[name] = max(version, known.get(name, 0))
        return known

    def raise_to(self, versions: Mapping[str, int]) -> None:
        """Raise the marks; on the disk when this returns.

        Args:
            versions: What is trusted now, by name.

        Raises:
            DatabaseGone: The database cannot be written.
        """
        self._book.raise_to(versions)
        known = self.versions()
        if known == self._filed():
            return
        try:
            write_atomic(self._path, json.dumps(known, sort_keys=True).encode())
        except OSError as error:
            log.warning("the marks' second copy is not written: %s", error)

    def restore(self) -> bool:
        """Bring both copies to the same height, after a start.

        Returns:
            Whether any mark is known.
        """
        known = self.versions()
        if known:
            self.raise_to(known)
        return bool(known)

    def _filed(self) -> Mapping[str, int]:
        """What the file says; nothing when it is missing or damaged."""
        try:
            content = self._path.read_bytes()
        except OSError:
            return {}
        try:
            values = strict_object(
                content, limit=MAX_FILE_BYTES, code="invalid_request"
            )
        except YaoheError as error:
            log.error("the marks' second copy is damaged: %s", error.message)
            return {}
        return {name: number for name, number in values.items() if type(number) is int}
