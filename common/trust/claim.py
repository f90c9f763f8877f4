"""Claim codes: how a box and the cloud prove to each other that they may meet.

A code is typed once, on the box. Its first part names the claim, its second part is a
secret that never travels: the box proves it over its certificate request, the cloud
proves it over its answer. So nobody between them can change either, even on plain HTTP,
and an answer that is proven brings the trust root safely.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

from common.errors import YaoheError

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no letter looks like a digit."""
NAME_CHARACTERS = 5
SECRET_CHARACTERS = 15
"""75 bits: whoever saw both proofs cannot guess it."""
BLOCK = 5
ASKING, ANSWERING = "enrol-request", "enrolled"
"""Purposes of proofs: what a box asks, what the cloud answers."""
MAX_TYPED_CHARACTERS = 64

_READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})


class Claim(NamedTuple):
    """A claim code in its parts.

    Attributes:
        name: Names the claim; no secret.
        secret: The secret.
    """

    name: str
    secret: str

    def __str__(self) -> str:
        """The code as people type it, in blocks of five."""
        whole = self.name + self.secret
        return "-".join(whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK))


def new_claim() -> Claim:
    """Draw a new code."""
    drawn = [
        secrets.choice(ALPHABET) for _ in range(NAME_CHARACTERS + SECRET_CHARACTERS)
    ]
    return _split("".join(drawn))


def parse_claim(typed: str) -> Claim:
    """Read a code as a person typed it.

    Args:
        typed: Any string; case, blanks and hyphens do not matter.

    Returns:
        The claim.

    Raises:
        YaoheError: ``invalid_request``: it is no code.
    """
    code = typed[:MAX_TYPED_CHARACTERS].upper().translate(_READ_AS)
    length = NAME_CHARACTERS + SECRET_CHARACTERS
    if len(code) != length or not set(code) <= set(ALPHABET):
        raise YaoheError(
            "invalid_request",
            f"not a claim code: it has {length} letters and digits in blocks of "
            f"{BLOCK}",
            param="code",
        )
    return _split(code)


def proof(claim: Claim, purpose: str, content: bytes) -> str:
    """Prove that one knows the secret.

    Args:
        claim: The claim.
        purpose: What the content is; a proof for one purpose serves no other.
        content: What is vouched for.

    Returns:
        64 hexadecimal digits.
    """
    message = purpose.encode() + b"\0" + content
    return hmac.new(claim.secret.encode(), message, hashlib.sha256).hexdigest()


def is_proof(claim: Claim, purpose: str, content: bytes, given: str) -> bool:
    """Check a proof, in the same time whatever it is."""
    return hmac.compare_digest(proof(claim, purpose, content), given)


def _split(code: str) -> Claim:
    return Claim(code[:NAME_CHARACTERS], code[NAME_CHARACTERS:])
