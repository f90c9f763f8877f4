"""The trusted view of a repository, by python-tuf, with memory that cannot be emptied.

Three parts that never mix: a *source* moves bytes, python-tuf decides order and
validates, and *marks* remember the highest versions ever trusted.

Rules of this module:

* python-tuf's protection against rollback lives in cache files that a power cut can
  empty; the marks live in a database that syncs, and anything below them is refused.
* Time is the wall clock, but never before the latest time that was ever signed. When
  metadata looks expired although it is newer than all that was seen, the clock is what
  is wrong: the metadata counts, and the clock is reported.
* The bootstrap root is given at every start, so that no local file can block updates.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from tuf.api.exceptions import (
    DownloadError,
    DownloadHTTPError,
    ExpiredMetadataError,
    RepositoryError,
)
from tuf.api.metadata import Metadata, Root, Snapshot, Targets, Timestamp
from tuf.ngclient import FetcherInterface, Updater, UpdaterConfig

from common.errors import YaoheError
from common.files import make_directory
from common.trust.envelope import Keyring
from common.trust.roles import role

BASE = "line://"
NOT_FOUND = 404
TOP_ROLES = ("root", "timestamp", "snapshot", "targets")
CONFIG = UpdaterConfig(
    max_root_rotations=64,
    root_max_length=64 * 1024,
    timestamp_max_length=8 * 1024,
    snapshot_max_length=64 * 1024,
    targets_max_length=2 * 1024 * 1024,
)
"""Bytes of each role's metadata that are read at most."""

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where metadata comes from."""

    def metadata(self, name: str) -> bytes | None:
        """One file, such as ``timestamp.json`` or ``3.root.json``; None if unknown."""


class Marks(Protocol):
    """The highest versions ever trusted, kept where a power cut cannot reach.

    A mark is named for its role and, root's aside, for the keys of the role: when a new
    root replaces a stolen key, what the thief made us expect is forgotten with it.
    """

    def versions(self) -> Mapping[str, int]:
        """The marks now."""

    def raise_to(self, versions: Mapping[str, int]) -> None:
        """Raise the marks; on the disk when this returns."""


class Target(NamedTuple):
    """A signed file of the repository.

    Attributes:
        path: Its path in the repository.
        sha256: Its digest, hex.
        size: Its length in bytes.
    """

    path: str
    sha256: str
    size: int


class Trusted(NamedTuple):
    """What is trusted after a refresh.

    Attributes:
        versions: Version of each top-level role.
        marks: The same, named as :class:`Marks` wants it.
        packs: Keys that sign packs.
        phrases: Keys that sign heads and jobs.
        targets: Signed files by path.
        issued: When the timestamp was signed, seconds since 1970.
        is_clock_suspect: Whether only a wrong clock explains what was seen.
    """

    versions: Mapping[str, int]
    marks: Mapping[str, int]
    packs: Keyring
    phrases: Keyring
    targets: Mapping[str, Target]
    issued: int
    is_clock_suspect: bool


class _Fetcher(FetcherInterface):
    """Gives python-tuf the bytes of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def _fetch(self, url: str) -> Iterator[bytes]:
        content = self._source.metadata(url.removeprefix(BASE))
        if content is None:
            raise DownloadHTTPError("not here", NOT_FOUND)
        return iter([content])


class TrustUpdater:
    """Refreshes what is trusted."""

    def __init__(
        self, folder: Path, bootstrap: bytes, source: Source, marks: Marks
    ) -> None:
        """Remember the parts.

        Args:
            folder: For python-tuf's cache; made if missing.
            bootstrap: The root that enrolment brought.
            source: Where metadata comes from.
            marks: The highest versions ever trusted.
        """
        self._folder = folder
        self._bootstrap = bootstrap
        self._source = source
        self._marks = marks
        self._taken: Mapping[str, int] = {}

    def refresh(self, wall_s: float, floor_s: float) -> Trusted:
        """Take up the newest metadata.

        Args:
            wall_s: What the clock says, seconds since 1970.
            floor_s: The latest time that was ever signed for, seconds since 1970.

        Returns:
            What is trusted now.

        Raises:
            YaoheError: ``pack_invalid``: what the source has cannot be trusted;
                ``not_ready``: the source lacks something, or the disk refuses.
        """
        is_suspect = False
        try:
            try:
                self._refresh_at(max(wall_s, floor_s))
            except ExpiredMetadataError:
                if wall_s <= floor_s:
                    raise
                self._refresh_at(floor_s)
                is_suspect = True
            trusted = self._read(is_suspect)
        except RepositoryError as error:
            raise _refused(error) from None
        except DownloadError as error:
            raise YaoheError("not_ready", f"metadata is missing: {error}") from None
        except OSError as error:
            raise YaoheError("not_ready", f"metadata is not kept: {error}") from None
        self._hold_to_marks(trusted)
        return trusted

    def _refresh_at(self, now_s: float) -> None:
        make_directory(self._folder)
        updater = Updater(
            str(self._folder),
            BASE,
            fetcher=_Fetcher(self._source),
            config=CONFIG,
            bootstrap=self._bootstrap,
        )
        # The library has no parameter for the time it judges expiry by.
        updater._trusted_set.reference_time = dt.datetime.fromtimestamp(
            now_s, dt.timezone.utc
        )
        updater.refresh()

    def _read(self, is_suspect: bool) -> Trusted:
        """Read back what python-tuf has verified and kept."""
        root = Metadata[Root].from_file(str(self._folder / "root.json")).signed
        stamp = Metadata[Timestamp].from_file(str(self._folder / "timestamp.json"))
        snapshot = Metadata[Snapshot].from_file(str(self._folder / "snapshot.json"))
        targets = Metadata[Targets].from_file(str(self._folder / "targets.json")).signed
        life = dt.timedelta(days=role("timestamp").expiry_days)
        versions = dict(
            zip(
                TOP_ROLES,
                (
                    root.version,
                    stamp.signed.version,
                    snapshot.signed.version,
                    targets.version,
                ),
                strict=True,
            )
        )
        return Trusted(
            versions=versions,
            marks={_mark(root, name): v for name, v in versions.items()},
            packs=_root_keyring(root),
            phrases=_phrases_keyring(targets),
            targets={
                path: Target(path, file.hashes["sha256"], file.length)
                for path, file in targets.targets.items()
                if "sha256" in file.hashes
            },
            issued=int((stamp.signed.expires - life).timestamp()),
            is_clock_suspect=is_suspect,
        )

    def _hold_to_marks(self, trusted: Trusted) -> None:
        marks = self._marks.versions()
        for name, version in trusted.marks.items():
            if version < marks.get(name, 0):
                raise _refused(
                    f"{name.split(':')[0]} went back from version {marks[name]} "
                    f"to {version}"
                )
        risen = any(v > marks.get(n, 0) for n, v in trusted.marks.items())
        is_known = trusted.marks == self._taken
        if trusted.is_clock_suspect and not risen and not is_known:
            # Old metadata with an old date: a frozen repository looks like this. What
            # was news to this process is none the less trusted when it comes again.
            raise _refused("the metadata is expired, by a clock that may be wrong")
        if risen:
            self._marks.raise_to(trusted.marks)
        self._taken = trusted.marks


def _mark(root: Root, name: str) -> str:
    """The name of a role's mark."""
    if name == "root":
        return name
    keys = "".join(sorted(root.roles[name].keyids))
    return f"{name}:{hashlib.sha256(keys.encode()).hexdigest()[:16]}"


def _root_keyring(root: Root) -> Keyring:
    named = root.roles["targets"]
    keys = [root.keys[name] for name in named.keyids if name in root.keys]
    return Keyring(keys, named.threshold)


def _phrases_keyring(targets: Targets) -> Keyring:
    delegations = targets.delegations
    named = (delegations.roles or {}).get("phrases") if delegations else None
    if delegations is None or named is None:
        return Keyring([], role("phrases").threshold)
    keys = [delegations.keys[n] for n in named.keyids if n in delegations.keys]
    return Keyring(keys, named.threshold)


def _refused(reason: object) -> YaoheError:
    return YaoheError("pack_invalid", f"the repository cannot be trusted: {reason}")
