"""Signed envelopes (DSSE): opened by keys that may sign them, or not at all.

Rules of this module:

* The payload type is part of what is signed, and decides whose keys count
  (:mod:`common.trust.roles`): a key that may sign heads cannot sign a pack.
* Any bytes give the payload or ``pack_invalid``; nothing of the library leaks out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as LibraryError
from securesystemslib.signer import Key

from common.errors import YaoheError, quoted
from common.protocol.canonical import strict_object

MAX_ENVELOPE_BYTES = 512 * 1024
MAX_SIGNATURES = 16


class Keyring(NamedTuple):
    """Who may sign, and how many must.

    Attributes:
        keys: Public keys.
        threshold: How many of them must have signed.
    """

    keys: Sequence[Key]
    threshold: int


def open_envelope(data: bytes, payload_type: str, keyring: Keyring) -> bytes:
    """Check an envelope and take its payload out.

    Args:
        data: Any bytes.
        payload_type: What it must hold.
        keyring: Whose signatures count.

    Returns:
        The payload, as it was signed.

    Raises:
        YaoheError: ``pack_invalid``: no envelope, of another type, or not signed by
            enough of these keys.
    """
    values = strict_object(data, limit=MAX_ENVELOPE_BYTES, code="pack_invalid")
    signatures = values.get("signatures")
    if not isinstance(signatures, list) or len(signatures) > MAX_SIGNATURES:
        raise _refused("no list of signatures")
    if values.get("payloadType") != payload_type:
        raise _refused(f"it holds {quoted(values.get('payloadType'))}")
    try:
        envelope = Envelope.from_dict(values)
        envelope.verify(list(keyring.keys), keyring.threshold)
    except (LibraryError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise _refused(str(error) or type(error).__name__) from None
    return envelope.payload


def _refused(reason: str) -> YaoheError:
    return YaoheError("pack_invalid", f"not a signed envelope: {reason}")
