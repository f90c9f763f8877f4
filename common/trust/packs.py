"""The signature beside a pack's manifest, for whoever has the folder alone."""

from __future__ import annotations

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root

from common.errors import YaoheError
from common.trust.envelope import Keyring, open_envelope
from common.trust.roles import PACK_TYPE


def pack_keyring(root: bytes) -> Keyring:
    """The keys that may sign packs.

    Args:
        root: A root that is trusted here: enrolment's, or a later one.

    Returns:
        The keys of its targets role.

    Raises:
        YaoheError: ``pack_invalid``: the bytes are no root.
    """
    try:
        signed = Metadata[Root].from_bytes(root).signed
        named = signed.roles["targets"]
    except (RepositoryError, KeyError) as error:
        raise YaoheError("pack_invalid", f"not a root of trust: {error}") from None
    keys = [signed.keys[name] for name in named.keyids if name in signed.keys]
    return Keyring(keys, named.threshold)


def check_signature(manifest: bytes, envelope: bytes, keyring: Keyring) -> None:
    """Refuse a manifest that its envelope does not hold, signed by enough keys.

    Args:
        manifest: Content of ``manifest.json``.
        envelope: Content of ``manifest.dsse.json``.
        keyring: Whose signatures count.

    Raises:
        YaoheError: ``pack_invalid``.
    """
    if open_envelope(envelope, PACK_TYPE, keyring) != manifest:
        raise YaoheError("pack_invalid", "the signature is of another manifest")
