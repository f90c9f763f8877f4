"""The chain's certificate authority: who is the broker, who is which box.

Rules of this module:

* A box makes its own key and sends a request; its key never leaves it. What the
  request says about names is ignored: the certificate's common name is the box.
* Certificates begin at the release's date, so that a box whose clock stands in the past
  still knows its broker.
* P-256 everywhere, since every TLS library speaks it.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from common.errors import YaoheError
from common.files import PRIVATE, write_atomic

AUTHORITY_DAYS = 20 * 365
SERVER_DAYS = 10 * 365
NOT_BEFORE = dt.datetime(2025, 12, 1, tzinfo=dt.timezone.utc)
CLOUD = "_cloud"
"""Common name of the cloud's own client; no box may be called so."""


class Identity(NamedTuple):
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs certificates of one chain.

    Attributes:
        certificate: Its own certificate, PEM.
    """

    def __init__(
        self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> None:
        """Take certificate and key; :meth:`open` reads or makes them."""
        self._certificate = certificate
        self._key = key
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    @classmethod
    def open(cls, folder: Path, chain: str) -> Authority:
        """Read the authority, or found it.

        Args:
            folder: Where it lies; exists.
            chain: The chain's name.

        Returns:
            The authority.
        """
        certificate_file, key_file = folder / "ca.crt", folder / "ca.key"
        if not certificate_file.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            write_atomic(key_file, _key_pem(key), mode=PRIVATE)
            write_atomic(certificate_file, _self_signed(chain, key))
        loaded = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise YaoheError("internal_error", f"{key_file} holds another kind of key")
        return cls(
            x509.load_pem_x509_certificate(certificate_file.read_bytes()), loaded
        )

    def issue_server(self, hosts: Sequence[str]) -> Identity:
        """Make the broker's key and certificate.

        Args:
            hosts: Names and addresses it is reached under.

        Returns:
            Both.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        certificate = self._signed(
            hosts[0], key.public_key(), usage, SERVER_DAYS, names=names
        )
        return Identity(certificate, _key_pem(key))

    def issue_client(self, name: str, days: int = SERVER_DAYS) -> Identity:
        """Make a client's key and certificate.

        Args:
            name: Its common name.
            days: Days it is valid.

        Returns:
            Both.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        return Identity(
            self._signed(name, key.public_key(), usage, days), _key_pem(key)
        )

    def sign_request(self, request: str, box: str, days: int) -> bytes:
        """Certify a box's own key.

        Args:
            request: Certificate signing request, PEM.
            box: The box's name.
            days: Days from now that the certificate is valid.

        Returns:
            The certificate, PEM.

        Raises:
            YaoheError: ``invalid_request``: the request is broken or its key is of
                another kind.
        """
        key = request_key(request)
        return self._signed(box, key, ExtendedKeyUsageOID.CLIENT_AUTH, days)

    def revoked(self, serials: Iterable[int]) -> bytes:
        """Write the list of certificates that are worth nothing any more.

        Args:
            serials: Their serial numbers.

        Returns:
            The revocation list, PEM. It never runs out: a broker with a list that ran
            out would turn every box away.
        """
        now = max(dt.datetime.now(dt.timezone.utc), NOT_BEFORE)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(NOT_BEFORE)
            .next_update(_after(AUTHORITY_DAYS))
        )
        for serial in serials:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(serial)
                .revocation_date(now)
                .build()
            )
        listed = builder.sign(self._key, hashes.SHA256())
        return listed.public_bytes(serialization.Encoding.PEM)

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePublicKey,
        usage: x509.ObjectIdentifier,
        days: int,
        *,
        names: x509.SubjectAlternativeName | None = None,
    ) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(self._certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOT_BEFORE)
            .not_valid_after(_after(days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(x509.ExtendedKeyUsage([usage]), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(
                    self._key.public_key()
                ),
                False,
            )
        )
        if names is not None:
            builder = builder.add_extension(names, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)


def request_key(request: str) -> ec.EllipticCurvePublicKey:
    """The key that a signing request asks for.

    Args:
        request: Certificate signing request, PEM; any string.

    Returns:
        Its public key.

    Raises:
        YaoheError: ``invalid_request``: the request is broken, not signed by its own
            key, or of another kind.
    """
    try:
        parsed = x509.load_pem_x509_csr(request.encode())
        is_valid = parsed.is_signature_valid
        key = parsed.public_key()
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise _refused(f"{type(error).__name__}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise _refused("the key is not of the curve P-256")
    if not is_valid:
        raise _refused("it is not signed by its own key")
    return key


def key_name(key: ec.EllipticCurvePublicKey) -> str:
    """A short name of a key: hex SHA-256 of its encoding."""
    form = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = hashes.Hash(hashes.SHA256())
    digest.update(form)
    return digest.finalize().hex()


def _refused(reason: str) -> YaoheError:
    return YaoheError(
        "invalid_request", f"not a certificate request: {reason}", param="request"
    )


def _self_signed(chain: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    name = _name(f"Yaohe {chain}")
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(_after(AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False
        )
        .add_extension(
            x509.KeyUsage(
                digital_signature=False,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            True,
        )
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def _after(days: int) -> dt.datetime:
    now = dt.datetime.now(dt.timezone.utc)
    return max(now, NOT_BEFORE) + dt.timedelta(days=days)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
