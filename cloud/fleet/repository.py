"""The repository that boxes trust: offline metadata taken in, online metadata signed.

Rules of this module:

* Root and targets come from the offline keys; here they are checked and passed on.
  This machine holds timestamp, snapshot and phrases, and cannot bring a new voice.
* Versions only rise, and a file once published is never changed.
* Online metadata is signed again when half its life is over.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    Targets,
    Timestamp,
)

from common.errors import YaoheError, quoted
from common.files import PRIVATE, make_directory, write_atomic
from common.trust.roles import SPEC_VERSION, RoleName, role, signer_of_envelope

RENEW_AT = 0.5
"""Share of its life after which online metadata is signed again."""
ONLINE: tuple[RoleName, ...] = ("snapshot", "timestamp", "phrases")


class Repository:
    """Signed metadata in a folder."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder."""
        self._metadata = folder / "metadata"
        self._keys = folder / "keys"

    @property
    def is_founded(self) -> bool:
        """Whether a chain's trust has been taken up."""
        return (self._metadata / "timestamp.json").exists()

    def found(self, chain: Path) -> None:
        """Take up a chain's trust, or its newest offline metadata.

        Args:
            chain: Folder that ``yaohe-distill keygen`` made, or a copy of its
                ``online`` and ``metadata`` parts.

        Raises:
            YaoheError: ``pack_invalid``: the metadata does not hold together.
        """
        make_directory(self._metadata)
        make_directory(self._keys)
        for name in ONLINE:
            source = chain / "online" / f"{name}.pem"
            if source.exists():
                write_atomic(
                    self._keys / source.name, source.read_bytes(), mode=PRIVATE
                )
        for path in sorted((chain / "metadata").glob("*.root.json"), key=_number):
            self._take_root(path)
        self.take_targets(max((chain / "metadata").glob("*.targets.json"), key=_number))
        self.renew(force=True)

    def take_targets(self, path: Path) -> bool:
        """Take up new targets metadata.

        Args:
            path: A file that the offline keys signed.

        Returns:
            Whether it was new.

        Raises:
            YaoheError: ``pack_invalid``: not signed by this chain's keys, older than
                what is here, or changed under its version.
        """
        try:
            new = Metadata[Targets].from_file(str(path))
            root = self._newest_root().signed
            root.verify_delegate("targets", new.signed_bytes, new.signatures)
        except RepositoryError as error:
            raise _refused(f"targets: {error}") from None
        current = max(self._numbers("targets"), default=0)
        if new.signed.version < current:
            raise _refused(f"targets {new.signed.version}, here is {current}")
        return self._keep(f"{new.signed.version}.targets.json", path.read_bytes())

    def root(self) -> bytes:
        """The newest root, for boxes that enrol.

        Raises:
            YaoheError: ``not_ready``: no trust has been taken up.
        """
        return (self._metadata / f"{self._number_of('root')}.root.json").read_bytes()

    def targets(self) -> Targets:
        """The newest targets."""
        path = self._metadata / f"{self._number_of('targets')}.targets.json"
        return Metadata[Targets].from_file(str(path)).signed

    def sign_envelope(self, payload: bytes, payload_type: str) -> bytes:
        """Sign something by the online key that may.

        Args:
            payload: What is signed.
            payload_type: What it is.

        Returns:
            The envelope, JSON.

        Raises:
            YaoheError: ``pack_invalid``: no online role signs such a thing.
        """
        limits = signer_of_envelope(payload_type)
        if not limits.online:
            raise _refused(f"{limits.name} is offline")
        envelope = Envelope(payload, payload_type, {})
        envelope.sign(self._signer(limits.name))
        return json.dumps(envelope.to_dict(), separators=(",", ":")).encode()

    def key_mark(self, name: RoleName) -> int:
        """A number that changes when an online role gets another key."""
        try:
            return (self._keys / f"{name}.pem").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def renew(self, *, force: bool = False) -> bool:
        """Sign online metadata again where something is new or half its life is over.

        Args:
            force: Sign in any case.

        Returns:
            Whether anything was signed.
        """
        versions = {"targets.json": self._number_of("targets")}
        phrases = self._current("phrases")
        if phrases is None or force or _is_old(phrases, "phrases"):
            # Its key signs heads; its own list stays empty.
            phrases = self._sign(Targets(), "phrases")
        versions["phrases.json"] = phrases.signed.version
        snapshot = self._current("snapshot")
        is_new = force or _is_old(snapshot, "snapshot")
        if snapshot is None or is_new or versions != _named(snapshot):
            meta = {name: MetaFile(version) for name, version in versions.items()}
            snapshot = self._sign(Snapshot(meta=meta), "snapshot")
            is_new = True
        if is_new or _is_old(self._current("timestamp"), "timestamp"):
            named = MetaFile(snapshot.signed.version)
            self._sign(Timestamp(snapshot_meta=named), "timestamp")
            is_new = True
        return is_new

    def files(self) -> Iterator[tuple[str, bytes]]:
        """All that boxes may need, the timestamp last.

        Yields:
            Name (``3.root.json``, ``timestamp.json``) and content: every root, and the
            newest version of each other role.
        """
        for number in range(1, self._number_of("root") + 1):
            path = self._metadata / f"{number}.root.json"
            if path.exists():
                yield path.name, path.read_bytes()
        for name in ("targets", "phrases", "snapshot"):
            path = self._metadata / f"{self._number_of(name)}.{name}.json"
            yield path.name, path.read_bytes()
        yield "timestamp.json", (self._metadata / "timestamp.json").read_bytes()

    def copy_to(self, folder: Path) -> None:
        """Copy all metadata, as a mirror or a test's source."""
        shutil.copytree(self._metadata, folder, dirs_exist_ok=True)

    def _take_root(self, path: Path) -> None:
        try:
            new = Metadata[Root].from_file(str(path))
            new.signed.verify_delegate("root", new.signed_bytes, new.signatures)
            if self._numbers("root"):
                old = self._newest_root().signed
                if new.signed.version > old.version:
                    old.verify_delegate("root", new.signed_bytes, new.signatures)
        except RepositoryError as error:
            raise _refused(f"root: {error}") from None
        self._keep(f"{new.signed.version}.root.json", path.read_bytes())

    def _keep(self, name: str, content: bytes) -> bool:
        """Keep a file for ever; the same again is no news, another is refused."""
        path = self._metadata / name
        if path.exists():
            if path.read_bytes() != content:
                raise _refused(f"{name} was published with another content")
            return False
        write_atomic(path, content)
        return True

    def _current(self, name: RoleName) -> Metadata[Any] | None:
        """An online role's newest metadata, if there is any."""
        path = self._metadata / "timestamp.json"
        if name != "timestamp":
            newest = max(self._numbers(name), default=0)
            path = self._metadata / f"{newest}.{name}.json"
        return Metadata.from_file(str(path)) if path.exists() else None

    def _sign(self, signed: Any, name: RoleName) -> Metadata[Any]:
        """Sign an online role's next version and keep it."""
        current = self._current(name)
        signed.version = current.signed.version + 1 if current else 1
        signed.spec_version = SPEC_VERSION
        now = dt.datetime.now(dt.timezone.utc).replace(microsecond=0)
        signed.expires = now + dt.timedelta(days=role(name).expiry_days)
        metadata: Metadata[Any] = Metadata(signed)
        metadata.sign(self._signer(name))
        file = "timestamp.json"
        if name != "timestamp":
            file = f"{signed.version}.{name}.json"
        write_atomic(self._metadata / file, metadata.to_bytes())
        return metadata

    def _signer(self, name: RoleName) -> CryptoSigner:
        path = self._keys / f"{name}.pem"
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), None)
        except (OSError, ValueError) as error:
            raise YaoheError("not_ready", f"no key of {name}: {error}") from None
        return CryptoSigner(key)

    def _newest_root(self) -> Metadata[Root]:
        path = self._metadata / f"{self._number_of('root')}.root.json"
        return Metadata[Root].from_file(str(path))

    def _numbers(self, name: str) -> list[int]:
        return [_number(path) for path in self._metadata.glob(f"*.{name}.json")]

    def _number_of(self, name: str) -> int:
        numbers = self._numbers(name)
        if not numbers:
            raise YaoheError(
                "not_ready",
                "the fleet has no trust yet: make keys with `yaohe-distill keygen DIR` "
                "and take them up with `yaohe-cloud packs trust DIR`",
            )
        return max(numbers)


def _number(path: Path) -> int:
    """The version in a metadata file's name."""
    head = path.name.split(".")[0]
    if not head.isdigit():
        raise _refused(f"a file named {quoted(path.name)}")
    return int(head)


def _is_old(metadata: Metadata[Any] | None, name: RoleName) -> bool:
    """Whether a role has nothing yet, or half its life is over."""
    if metadata is None:
        return True
    life = dt.timedelta(days=role(name).expiry_days)
    left: dt.timedelta = metadata.signed.expires - dt.datetime.now(dt.timezone.utc)
    return left < life * RENEW_AT


def _named(snapshot: Metadata[Any]) -> dict[str, int]:
    """The versions that a snapshot names."""
    return {name: file.version for name, file in snapshot.signed.meta.items()}


def _refused(reason: str) -> YaoheError:
    return YaoheError("pack_invalid", f"not this chain's metadata: {reason}")
