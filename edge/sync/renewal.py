"""A box's certificate, renewed over the line before it ends.

Rules of this module:

* Each certificate is for a new key, which is made here, kept before anything is asked
  and never leaves; an answer that was lost is asked for again with the same key.
* Key and certificate lie in one file that is replaced whole, so a power cut leaves the
  old pair or the new one. The next connection uses it.
* Who answers need not be trusted: only the chain's authority can sign for our name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from cryptography import x509

from common.errors import YaoheError
from edge.sync.membership import (
    Membership,
    certificate_for,
    keep_identity,
    make_key,
    signing_request,
)

DAY_S = 24 * 3600
BEFORE_S = 60 * DAY_S
"""How long before its end a certificate is renewed, at most."""
SHARE = 3
"""A short-lived one is renewed in the last third of its time."""

log = logging.getLogger(__name__)


class Renewal:
    """Renews the certificate of one box."""

    def __init__(self, membership: Membership, now: Callable[[], float]) -> None:
        """Remember the parts.

        Args:
            membership: Whose certificate it is.
            now: Seconds since 1970.
        """
        self._membership = membership
        self._now = now

    @property
    def expires_s(self) -> int:
        """When the certificate ends, seconds since 1970."""
        content = self._identity.read_bytes()
        certificate = x509.load_pem_x509_certificate(content)
        return int(certificate.not_valid_after_utc.timestamp())

    def is_due(self) -> bool:
        """Whether it is time to ask for another."""
        try:
            ends = self.expires_s
            came = self._identity.stat().st_mtime
        except (OSError, ValueError) as error:
            log.error("the certificate cannot be read: %s", error)
            return False
        return self._now() >= ends - min(BEFORE_S, max(0.0, ends - came) / SHARE)

    def request(self) -> bytes:
        """The signing request for the next certificate, PEM.

        Raises:
            OSError: The new key cannot be kept.
        """
        return signing_request(make_key(self._pending)).encode()

    def take(self, certificate: bytes) -> bool:
        """Take up a certificate that came.

        Args:
            certificate: PEM, from whoever sent it.

        Returns:
            Whether it was taken up; one that comes twice is not.

        Raises:
            YaoheError: ``invalid_request``: it is not for our new key and name, or
                another chain's, or ends before the one at hand.
            OSError: It cannot be kept.
        """
        if not self._pending.exists():
            return False
        key = make_key(self._pending)
        told = self._membership.enrolled
        parsed = certificate_for(certificate, told.authority, told.box, key)
        if parsed.not_valid_after_utc.timestamp() < self.expires_s:
            raise YaoheError("invalid_request", "the certificate ends earlier")
        keep_identity(self._membership.folder, key, certificate)
        self._pending.unlink()
        log.info("the certificate is renewed until %s", parsed.not_valid_after_utc)
        return True

    @property
    def _identity(self) -> Path:
        return self._membership.folder / "identity.pem"

    @property
    def _pending(self) -> Path:
        return self._membership.folder / "renewal.pem"
