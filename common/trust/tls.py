"""TLS contexts for both ends of the line: the chain's own authority and nobody else.

A box whose clock stands in the past would refuse the broker's certificate as not yet
valid, and stay deaf because of its clock. With ``trust_clock=False`` dates are not
checked: the authority is the chain's own and signs nobody but the chain's broker.
"""

from __future__ import annotations

import ssl
from pathlib import Path

_NO_CHECK_TIME = 0x200000
"""OpenSSL's ``X509_V_FLAG_NO_CHECK_TIME``, for which Python has no name."""


def client_context(
    authority: Path, certificate: Path, key: Path, *, trust_clock: bool = True
) -> ssl.SSLContext:
    """Build the context of a client.

    Args:
        authority: Certificate of the chain's authority, PEM.
        certificate: The client's own certificate, PEM.
        key: Its key, PEM.
        trust_clock: Whether dates of certificates are checked.

    Returns:
        A context that checks the broker's name and proves ours.

    Raises:
        OSError: A file cannot be read or holds something else.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cafile=str(authority))
    context.load_cert_chain(str(certificate), str(key))
    if not trust_clock:
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    return context
