"""Who may sign what: the layout of TUF roles and of signed envelopes.

    root       offline, 2 of 3 keys    names the keys of the roles below
    ├── targets    offline             packs and models; delegates phrases
    │   └── phrases    online          snapshots of catalogues; heads and rollout jobs
    ├── snapshot   online              which versions belong together
    └── timestamp  online              which snapshot is the newest

Rules of this module:

* What speaks (packs, models) needs a key that no server holds. The online keys can
  freeze a fleet at most until a role expires, choose among signed packs, and publish
  phrases; they cannot bring a new voice.
* A role signs only paths and envelope types listed here, whatever its key could sign.
* ``tests/contract`` holds the layout: boxes that are sold keep the one they were
  enrolled with.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from common.errors import YaoheError, quoted

RoleName = Literal["root", "targets", "snapshot", "timestamp", "phrases"]
KEY_SCHEME = "ed25519"
SPEC_VERSION = "1.0.31"
"""Version of the TUF specification that metadata declares."""
LAYOUT_VERSION = 1

HEAD_TYPE = "application/vnd.yaohe.catalogue-head+cbor"
JOB_TYPE = "application/vnd.yaohe.rollout-job+json"
PACK_TYPE = "application/vnd.yaohe.pack-manifest+json"
"""Payload types of DSSE envelopes."""


@dataclass(frozen=True)
class Role:
    """A role and its limits.

    Attributes:
        name: The role.
        keys: Keys it has.
        threshold: Keys that must sign.
        online: Whether a server holds its keys.
        expiry_days: Days that one version of its metadata is valid.
        delegated_by: Who names its keys; None for root, which names its own.
        paths: Targets it may sign, ``*`` standing for one path part.
        envelopes: DSSE payload types it may sign.
    """

    name: RoleName
    keys: int
    threshold: int
    online: bool
    expiry_days: int
    delegated_by: RoleName | None
    paths: tuple[str, ...] = ()
    envelopes: tuple[str, ...] = ()


PACKS = "packs/*/*/manifest.json"
"""``packs/{name}/{version}/manifest.json``; the manifest vouches for its files."""
MODELS = "models/*/*/*"
"""``models/{name}/{version}/{file}``: assets of cloud engines."""
PHRASES = "phrases/*/snapshot"
"""``phrases/{scope, its slashes as dots}/snapshot``."""

LAYOUT: tuple[Role, ...] = (
    Role("root", 3, 2, False, 730, None),
    Role("targets", 2, 1, False, 365, "root", (PACKS, MODELS), (PACK_TYPE,)),
    Role("snapshot", 1, 1, True, 30, "root"),
    Role("timestamp", 1, 1, True, 7, "root"),
    Role("phrases", 1, 1, True, 30, "targets", (PHRASES,), (HEAD_TYPE, JOB_TYPE)),
)
_BY_NAME = {role.name: role for role in LAYOUT}
_PART = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}"


def role(name: RoleName) -> Role:
    """The limits of a role."""
    return _BY_NAME[name]


def _matches(pattern: str, path: str) -> bool:
    """Whether a path is of a pattern's form, part by part."""
    form = _PART.join(re.escape(piece) for piece in pattern.split("*"))
    return re.fullmatch(form, path) is not None


def signer_of_path(path: str) -> Role:
    """The one role that may sign a target.

    Args:
        path: The target's path in the repository.

    Returns:
        The role.

    Raises:
        YaoheError: ``pack_invalid``: no role signs such a path.
    """
    for each in LAYOUT:
        if any(_matches(pattern, path) for pattern in each.paths):
            return each
    raise YaoheError("pack_invalid", f"no role signs the path {quoted(path)}")


def signer_of_envelope(payload_type: str) -> Role:
    """The one role that may sign an envelope.

    Args:
        payload_type: Its DSSE payload type.

    Returns:
        The role.

    Raises:
        YaoheError: ``pack_invalid``: no role signs such an envelope.
    """
    for each in LAYOUT:
        if payload_type in each.envelopes:
            return each
    raise YaoheError("pack_invalid", f"no role signs the type {quoted(payload_type)}")


def as_dict() -> dict[str, Any]:
    """The layout as plain JSON, for the contract test and for people."""
    return {
        "layout": LAYOUT_VERSION,
        "scheme": KEY_SCHEME,
        "roles": [asdict(each) for each in LAYOUT],
    }
