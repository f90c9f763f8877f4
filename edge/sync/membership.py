"""What makes this box one of a chain: its certificate and what enrolment told it.

Rules of this module:

* The private key is made here and never leaves; it is kept before anything is asked,
  so that an answer that was lost can be asked for again with the same key.
* The membership file is written last: a crash before it leaves the box as it was.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from common.errors import YaoheError
from common.files import PRIVATE, make_directory, write_atomic
from common.protocol import reports
from common.protocol.reports import EnrolAnswer, Enrolled, EnrolRequest
from common.trust.claim import (
    ANSWERING,
    ASKING,
    Claim,
    is_proof,
    parse_claim,
    proof,
)
from common.trust.tls import client_context

TIMEOUT_S = 30.0
_FOLDER = "membership"
_PRIVATE_FOLDER = 0o700


@dataclass(frozen=True)
class Membership:
    """A box that is one of a chain.

    Attributes:
        enrolled: What it was told.
        folder: Where its identity lies.
    """

    enrolled: Enrolled
    folder: Path

    def tls(self, *, trust_clock: bool) -> ssl.SSLContext:
        """The context for the broker.

        Args:
            trust_clock: Whether dates of certificates are checked.
        """
        identity = self.folder / "identity.pem"
        authority = self.folder / "authority.pem"
        return client_context(authority, identity, identity, trust_clock=trust_clock)


def load_membership(data: Path) -> Membership | None:
    """What enrolment left.

    Args:
        data: The box's data folder.

    Returns:
        The membership; None when the box never enrolled.

    Raises:
        YaoheError: ``invalid_request``: the file is damaged. ``not_ready``: the disk
            does not give it.
    """
    folder = data / _FOLDER
    try:
        content = (folder / "membership.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise YaoheError("not_ready", f"it cannot be read: {error.strerror}") from None
    return Membership(reports.decode(Enrolled, content), folder)


def enrol(
    code: str, cloud: str, data: Path, *, client: httpx.Client | None = None
) -> Membership:
    """Become one of a chain.

    Args:
        code: The claim code as it was typed.
        cloud: Address of the cloud, such as ``http://cloud.example:8700``.
        data: The box's data folder.
        client: Who asks; by default a plain HTTP client.

    Returns:
        The membership, on the disk.

    Raises:
        YaoheError: The code is wrong, the cloud refuses or cannot be reached, or its
            answer does not prove that it knows the code.
    """
    claim = parse_claim(code)
    folder = data / _FOLDER
    make_directory(folder)
    folder.chmod(_PRIVATE_FOLDER)
    key = make_key(folder / f"pending-{claim.name}.pem")
    request = signing_request(key)
    asked = EnrolRequest(
        claim=claim.name,
        request=request,
        proof=proof(claim, ASKING, request.encode()),
    )
    content = _ask(cloud, asked, client)
    enrolled = _proven(claim, content)
    certificate = enrolled.certificate.encode()
    certificate_for(certificate, enrolled.authority, enrolled.box, key)
    keep_identity(folder, key, certificate)
    write_atomic(folder / "authority.pem", enrolled.authority.encode())
    write_atomic(folder / "membership.json", reports.encode(enrolled))
    for pending in folder.glob("pending-*.pem"):
        pending.unlink()
    return Membership(enrolled, folder)


def _ask(cloud: str, asked: EnrolRequest, client: httpx.Client | None) -> bytes:
    """Send the request."""
    own = client or httpx.Client(timeout=TIMEOUT_S)
    try:
        answer = own.post(
            f"{cloud.rstrip('/')}/v1/enrol",
            content=reports.encode(asked),
            headers={"Content-Type": "application/json"},
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise YaoheError(
            "not_ready", f"the cloud at {cloud} cannot be reached: {error}"
        ) from None
    finally:
        if client is None:
            own.close()
    if answer.status_code != httpx.codes.OK:
        try:
            said = answer.json()
        except ValueError:
            said = None
        raise YaoheError.from_body(said, answer.status_code)
    return answer.content


def _proven(claim: Claim, content: bytes) -> Enrolled:
    """Open an answer that its sender proved."""
    answer = reports.decode(EnrolAnswer, content)
    told = answer.enrolled.encode("utf-8", "surrogatepass")
    if not is_proof(claim, ANSWERING, told, answer.proof):
        raise YaoheError(
            "unauthorized", "whoever answered does not know the claim code"
        )
    return reports.decode(Enrolled, told)


def certificate_for(
    certificate: bytes, authority: str, box: str, key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """Check that a certificate is a box's own.

    Args:
        certificate: PEM, from anyone.
        authority: Certificate of the chain's authority, PEM.
        box: The box's name.
        key: Its key.

    Returns:
        The certificate.

    Raises:
        YaoheError: ``invalid_request``: it is not for this key and name, or not of this
            chain.
    """
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
        issuer = x509.load_pem_x509_certificate(authority.encode())
        parsed.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise YaoheError(
            "invalid_request", f"the certificate does not hold: {error}"
        ) from None
    names = parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    is_ours = parsed.public_key() == key.public_key()
    if not is_ours or [name.value for name in names] != [box]:
        raise YaoheError("invalid_request", "the certificate is another's")
    return parsed


def keep_identity(
    folder: Path, key: ec.EllipticCurvePrivateKey, certificate: bytes
) -> None:
    """Keep key and certificate in one file, replaced whole.

    Args:
        folder: Where the box's identity lies.
        key: Its key.
        certificate: Its certificate, PEM.
    """
    write_atomic(folder / "identity.pem", _key_pem(key) + certificate, mode=PRIVATE)


def make_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key of a file: made once.

    Args:
        path: The file; its folder exists.
    """
    if path.exists():
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return key
    key = ec.generate_private_key(ec.SECP256R1())
    write_atomic(path, _key_pem(key), mode=PRIVATE)
    return key


def signing_request(key: ec.EllipticCurvePrivateKey) -> str:
    """A certificate signing request, PEM; the cloud chooses the name.

    Args:
        key: What shall be certified.
    """
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
