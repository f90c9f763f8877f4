"""The files of packs on a box: each content once, and a folder for each pack.

The folder::

    blobs/    files by their SHA-256, whole and checked
    parts/    files that are being received
    trees/    packs by their manifest's SHA-256: links into blobs/
    lock      held by the process that is installing

Rules of this module:

* A blob is checked, synced, then renamed into its place, and the folder is synced. A
  pack's folder appears in one rename, complete.
* Nothing is ever written into a place that something may be reading.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from common.files import TEMPORARY_SUFFIX, make_directory, sync_directory
from common.protocol.manifest import MANIFEST_NAME
from edge.ota.download import Part
from edge.ota.refusal import Busy

READ_BLOCK = 1 << 20
READ_ONLY = 0o444
LOCK_LOOK_S = 0.1
MIB = 1 << 20
MIN_FREE_BYTES = 32 * MIB
"""Left on the disk for everything else."""


class Depot:
    """The folder of packs."""

    def __init__(self, folder: Path, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        """Remember the folder; it is made when something comes.

        Args:
            folder: Where packs lie.
            min_free_bytes: Bytes of the disk that packs never take.
        """
        self._folder = folder
        self._min_free = min_free_bytes
        self._blobs = folder / "blobs"
        self._parts = folder / "parts"
        self._trees = folder / "trees"

    def tree(self, manifest: str) -> Path:
        """The folder of a pack, whether or not it is there."""
        return self._trees / manifest

    def blob(self, sha256: str) -> Path:
        """The file of a blob, whether or not it is there."""
        return self._blobs / sha256

    @contextmanager
    def lock(self, patience_s: float = 0.0) -> Iterator[None]:
        """Be the one who installs.

        Args:
            patience_s: How long to wait for another, in seconds.

        Raises:
            Busy: Another process is.
        """
        until = time.monotonic() + patience_s
        make_directory(self._folder)
        file = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            while not _is_locked(file):
                if time.monotonic() >= until:
                    raise Busy
                time.sleep(LOCK_LOOK_S)
            yield
        finally:
            os.close(file)

    def free_bytes(self) -> int:
        """Bytes that packs may still take."""
        place = self._folder
        while not place.exists():
            place = place.parent
        return max(0, shutil.disk_usage(place).free - self._min_free)

    def has(self, sha256: str, size: int) -> bool:
        """Whether a blob is there and right; a wrong one is thrown away."""
        path = self.blob(sha256)
        try:
            if path.stat().st_size == size and _digest(path) == sha256:
                return True
        except FileNotFoundError:
            return False
        path.unlink(missing_ok=True)
        return False

    def part(self, sha256: str, size: int, hints: bytes) -> Part:
        """Open a blob to receive it; its room is reserved.

        Args:
            sha256: Its digest, hex.
            size: Its length in bytes.
            hints: What its part file should hold.

        Raises:
            OSError: The disk is full or refuses.
        """
        make_directory(self._parts)
        path = self._parts / f"{sha256}{TEMPORARY_SUFFIX}"
        return Part(path, sha256, size, hints)

    def adopt(self, part: Part) -> bool:
        """Make a received blob one of ours, if it is right.

        Args:
            part: All its chunks are there; it is closed when this returns True.

        Returns:
            Whether it has its digest; otherwise its chunks are forgotten.
        """
        if not part.is_right():
            part.clear()
            return False
        make_directory(self._blobs)
        os.chmod(part.path, READ_ONLY)
        with part.path.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(part.path, self.blob(part.sha256))
        sync_directory(self._blobs)
        part.close()
        return True

    def build(self, manifest: str, files: Mapping[str, str]) -> Path:
        """Lay out a pack's folder.

        Args:
            manifest: SHA-256 of its manifest, a blob.
            files: SHA-256 of each other file by its path, all of them blobs.

        Returns:
            The folder, complete and durable.
        """
        place = self.tree(manifest)
        if place.is_dir():
            return place
        make_directory(self._trees)
        draft = self._trees / f".{manifest}{TEMPORARY_SUFFIX}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        folders = {draft}
        for name, sha256 in {**files, MANIFEST_NAME: manifest}.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            folders |= {place for place in path.parents if draft in place.parents}
            os.link(self.blob(sha256), path)
        for folder in folders:
            sync_directory(folder)
        os.replace(draft, place)
        sync_directory(self._trees)
        return place

    def drop_tree(self, manifest: str) -> None:
        """Delete a pack's folder; it is gone by name before its files go."""
        place = self.tree(manifest)
        draft = self._trees / f".{manifest}{TEMPORARY_SUFFIX}"
        shutil.rmtree(draft, ignore_errors=True)
        with suppress(FileNotFoundError):
            os.replace(place, draft)
        shutil.rmtree(draft, ignore_errors=True)

    def collect(self, keep: Iterable[str]) -> None:
        """Delete packs that nobody needs, and what only they used.

        Args:
            keep: Manifests of packs to keep.
        """
        kept = set(keep)
        for place in self._in(self._trees):
            if place.name not in kept:
                drop = place.name.removeprefix(".").removesuffix(TEMPORARY_SUFFIX)
                if drop in kept:
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    self.drop_tree(drop)
        for path in self._in(self._blobs):
            # A blob that stands in a pack's folder has a second name.
            if path.stat().st_nlink == 1:
                path.unlink(missing_ok=True)
        for path in self._in(self._parts):
            path.unlink(missing_ok=True)

    def _in(self, folder: Path) -> list[Path]:
        return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_locked(file: int) -> bool:
    """Take the lock if nobody has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BLOCK):
            digest.update(block)
    return digest.hexdigest()
