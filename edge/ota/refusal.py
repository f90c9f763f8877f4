"""Why a pack is refused: a stable reason for programs, a sentence for people."""

from __future__ import annotations

from typing import Literal

from common.errors import YaoheError

Reason = Literal[
    "bad_signature",
    "not_signed",
    "damaged",
    "older_version",
    "version_reused",
    "unfit",
    "base_missing",
    "trial_failed",
    "trial_crashed",
    "blocked",
    "removed",
]
"""
* ``bad_signature``: the envelope beside the manifest is missing or not by a key that
  may sign packs.
* ``not_signed``: a job names what the offline keys did not sign.
* ``damaged``: bytes that came are not those that were signed.
* ``older_version``, ``version_reused``: a version that was in use here is newer, or is
  the same with another content.
* ``unfit``: made for another Yaohe, or not what its address says.
* ``base_missing``: it stands on a pack that is not here.
* ``trial_failed``, ``trial_crashed``: it did not speak as it should.
* ``blocked``: it failed before, and nobody has asked for another attempt.
* ``removed``: a person took it out.
"""


class Refused(YaoheError):
    """A pack that must not speak here.

    Attributes:
        reason: Why, for programs.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        """Say why.

        Args:
            reason: For programs.
            message: For people.
        """
        super().__init__("pack_invalid", message, data={"reason": reason})
        self.reason: Reason = reason


class NoRoom(YaoheError):
    """The disk has no room for a pack now; it is tried again when it has."""

    def __init__(self, needed: int, free: int) -> None:
        """Say how much.

        Args:
            needed: Bytes that the pack still needs.
            free: Bytes that may be taken.
        """
        super().__init__(
            "not_ready", f"the pack needs {needed} bytes, the disk can give {free}"
        )


class NoBase(YaoheError):
    """What a pack stands on is not here yet; it is looked for again."""

    def __init__(self, missing: str) -> None:
        """Say what.

        Args:
            missing: Which pack stands on which.
        """
        super().__init__("not_ready", f"{missing}, which is not here yet")


class Busy(YaoheError):
    """Another process is installing a pack."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("not_ready", "another pack is being installed; try again")
