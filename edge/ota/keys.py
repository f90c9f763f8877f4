"""Whose signatures on packs count on this box."""

from __future__ import annotations

from pathlib import Path

from common.errors import YaoheError
from common.trust.envelope import Keyring
from common.trust.packs import pack_keyring
from edge.ota.refusal import Refused
from edge.sync.membership import load_membership


def trusted_keyring(data: Path) -> Keyring:
    """The keys that may sign packs for this box.

    Args:
        data: The box's data folder.

    Returns:
        Keys of the newest root that was trusted here, else of enrolment's.

    Raises:
        Refused: ``bad_signature``: the box never enrolled, so it trusts nobody.
    """
    membership = load_membership(data)
    if membership is None:
        raise Refused(
            "bad_signature",
            "this box trusts nobody's packs yet: enrol it with "
            "`yaohe-edge enrol CODE --cloud ADDRESS`",
        )
    try:
        return pack_keyring((data / "trust" / "root.json").read_bytes())
    except (OSError, YaoheError):
        # Not there yet, or cut short by a crash: it is fetched again.
        return pack_keyring(membership.enrolled.root.encode())
