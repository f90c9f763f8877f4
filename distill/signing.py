"""The chain's offline keys: who may name keys, and who may bring a new voice.

Rules of this module:

* Root keys (2 of 3) and targets keys stay here, on a machine that no server reaches.
  The keys of the online roles are made here once, for the cloud to take along.
* The folder remembers the newest metadata it signed; versions only rise.
* A pack is signed twice in one step: an envelope beside its manifest, for whoever has
  the folder alone, and an entry among the repository's targets, for the fleet.

The folder::

    offline/  root-1.pem root-2.pem root-3.pem targets-1.pem targets-2.pem
    online/   snapshot.pem timestamp.pem phrases.pem        goes to the cloud
    metadata/ N.root.json N.targets.json                    goes to the cloud
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import (
    DelegatedRole,
    Delegations,
    Key,
    Metadata,
    Role,
    Root,
    TargetFile,
    Targets,
)

from common.errors import YaoheError
from common.files import PRIVATE, make_directory, write_atomic
from common.protocol.manifest import (
    MANIFEST_NAME,
    SIGNATURE_NAME,
    Manifest,
    parse_manifest,
)
from common.trust.roles import (
    LAYOUT,
    PACK_TYPE,
    SPEC_VERSION,
    RoleName,
    role,
    signer_of_path,
)

KEYS_MODE = 0o700
OFFLINE: dict[str, RoleName] = {e.name: e.name for e in LAYOUT if not e.online}
ONLINE: dict[str, RoleName] = {e.name: e.name for e in LAYOUT if e.online}
"""Roles by what a person typed."""


def keygen(folder: Path) -> None:
    """Make all keys of a chain and its first root and targets.

    Args:
        folder: A folder that does not exist, or is empty.

    Raises:
        YaoheError: ``invalid_request``: something is there already.
    """
    if folder.exists() and any(folder.iterdir()):
        raise YaoheError("invalid_request", f"{folder} is not empty; keys are kept")
    make_directory(folder)
    folder.chmod(KEYS_MODE)
    for name in ("offline", "online", "metadata"):
        make_directory(folder / name)
    for each in LAYOUT:
        for path in _key_files(folder, each.name):
            _make_key(path)
    _publish(folder, Metadata(_first_root(folder)), "root")
    _publish(folder, Metadata(_first_targets(folder)), "targets")


def sign_pack(pack: Path, folder: Path) -> Manifest:
    """Sign a pack and enter it among the repository's targets.

    Args:
        pack: The pack's folder.
        folder: The keys' folder.

    Returns:
        The pack's manifest. Beside it lies the signed envelope now, and in the keys'
        ``metadata`` a new version of the targets.

    Raises:
        YaoheError: ``pack_invalid``: the pack is damaged, or its version is signed
            already with another content.
    """
    path = pack / MANIFEST_NAME
    if not path.is_file():
        raise YaoheError("pack_invalid", f"{pack} holds no {MANIFEST_NAME}")
    content = path.read_bytes()
    manifest = parse_manifest(content)
    name = f"packs/{manifest.name}/{manifest.version}/{MANIFEST_NAME}"
    signer_of_path(name)
    metadata = newest(folder, "targets")
    file = TargetFile.from_data(name, content, ["sha256"])
    known = metadata.signed.targets.get(name)
    if known is not None and known.hashes != file.hashes:
        raise YaoheError(
            "pack_invalid",
            f"{manifest.label} is signed already with another content; "
            "give it a new version",
        )
    envelope = Envelope(content, PACK_TYPE, {})
    for signer in _signers(folder, "targets", role("targets").threshold):
        envelope.sign(signer)
    signed = json.dumps(envelope.to_dict(), separators=(",", ":")).encode()
    if known is None:
        metadata.signed.targets[name] = file
        _next_version(folder, metadata, "targets")
    write_atomic(pack / SIGNATURE_NAME, signed)
    return manifest


def renew(folder: Path, name: RoleName) -> None:
    """Sign a role's newest metadata again, with a later expiry.

    Args:
        folder: The keys' folder.
        name: ``root`` or ``targets``.
    """
    _next_version(folder, newest(folder, name), name)


def replace_key(folder: Path, name: RoleName) -> None:
    """Give an online role a new key; its old one, perhaps stolen, counts no more.

    Args:
        folder: The keys' folder.
        name: ``snapshot``, ``timestamp`` or ``phrases``.

    Raises:
        YaoheError: ``invalid_request``: the role is offline.
    """
    limits = role(name)
    if not limits.online:
        raise YaoheError("invalid_request", f"{name} is no online role")
    holder: RoleName = "root" if limits.delegated_by == "root" else "targets"
    metadata = newest(folder, holder)
    (path,) = _key_files(folder, name)
    metadata.signed.revoke_key(_public(path).keyid, name)
    _make_key(path)
    metadata.signed.add_key(_public(path), name)
    _next_version(folder, metadata, holder)


def newest(folder: Path, name: RoleName) -> Metadata[Any]:
    """A role's newest metadata.

    Args:
        folder: The keys' folder.
        name: ``root`` or ``targets``.

    Returns:
        It, as the folder remembers it.

    Raises:
        YaoheError: ``not_found``: there is none; ``internal_error``: it is damaged.
    """
    found = {
        int(path.name.split(".")[0]): path
        for path in (folder / "metadata").glob(f"*.{name}.json")
        if path.name.split(".")[0].isdigit()
    }
    if not found:
        raise YaoheError("not_found", f"{folder} holds no keys; make them with keygen")
    try:
        return Metadata.from_file(str(found[max(found)]))
    except RepositoryError as error:
        raise YaoheError("internal_error", f"damaged metadata: {error}") from None


def _next_version(folder: Path, metadata: Metadata[Any], name: RoleName) -> None:
    metadata.signed.version += 1
    metadata.signed.expires = _expiry(name)
    _publish(folder, metadata, name)


def _publish(folder: Path, metadata: Metadata[Any], name: RoleName) -> None:
    """Sign metadata by as many keys as must, and keep it."""
    metadata.signatures.clear()
    for signer in _signers(folder, name, role(name).threshold):
        metadata.sign(signer, append=True)
    path = folder / "metadata" / f"{metadata.signed.version}.{name}.json"
    write_atomic(path, metadata.to_bytes())


def _first_root(folder: Path) -> Root:
    keys: dict[str, Key] = {}
    roles: dict[str, Role] = {}
    for each in LAYOUT:
        if each.delegated_by in (None, "root"):
            own = [_public(path) for path in _key_files(folder, each.name)]
            keys |= {key.keyid: key for key in own}
            roles[each.name] = Role([key.keyid for key in own], each.threshold)
    return Root(
        version=1,
        spec_version=SPEC_VERSION,
        expires=_expiry("root"),
        keys=keys,
        roles=roles,
        consistent_snapshot=True,
    )


def _first_targets(folder: Path) -> Targets:
    phrases = role("phrases")
    own = [_public(path) for path in _key_files(folder, "phrases")]
    delegated = DelegatedRole(
        phrases.name,
        [key.keyid for key in own],
        phrases.threshold,
        terminating=True,
        paths=list(phrases.paths),
    )
    return Targets(
        version=1,
        spec_version=SPEC_VERSION,
        expires=_expiry("targets"),
        delegations=Delegations(
            {key.keyid: key for key in own}, {phrases.name: delegated}
        ),
    )


def _key_files(folder: Path, name: RoleName) -> list[Path]:
    limits = role(name)
    if limits.online:
        return [folder / "online" / f"{name}.pem"]
    return [folder / "offline" / f"{name}-{n + 1}.pem" for n in range(limits.keys)]


def _make_key(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_atomic(path, pem, mode=PRIVATE)


def _signer(path: Path) -> CryptoSigner:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError) as error:
        raise YaoheError("not_found", f"key {path.name}: {error}") from None
    return CryptoSigner(key)


def _signers(folder: Path, name: RoleName, count: int) -> list[CryptoSigner]:
    """As many keys of a role as must sign; the others may lie in another safe."""
    present = [path for path in _key_files(folder, name) if path.exists()]
    if len(present) < count:
        raise YaoheError("not_found", f"{count} keys of {name} must sign")
    return [_signer(path) for path in present[:count]]


def _public(path: Path) -> Key:
    return _signer(path).public_key


def _expiry(name: RoleName) -> dt.datetime:
    now = dt.datetime.now(dt.timezone.utc).replace(microsecond=0)
    return now + dt.timedelta(days=role(name).expiry_days)
