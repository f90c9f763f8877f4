"""With certificates both sides of a worker's line show theirs, and nobody else talks."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import grpc
import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cloud.metrics import Metrics
from cloud.settings import WorkerSettings
from cloud.worker import channel
from cloud.worker import synthesizer_pb2 as pb
from cloud.worker.client import RemoteEngine
from cloud.worker.server import Worker
from cloud.worker.synthesizer_pb2_grpc import (
    SynthesizerStub,
    add_SynthesizerServicer_to_server,
)
from common.errors import YaoheError
from tests.unit.cloud.conftest import ToneEngine
from tests.workers import job

Key = ec.EllipticCurvePrivateKey


def certified(
    folder: Path, name: str, issuer: tuple[x509.Name, Key] | None = None
) -> tuple[x509.Name, Key]:
    """Write NAME.pem and NAME.key: an authority's own, or what it signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, signing = issuer or (subject, key)
    now = dt.datetime.now(dt.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(signing, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
    )
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return subject, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, and what the first one signed."""
    folder = tmp_path_factory.mktemp("certificates")
    ours = certified(folder, "authority")
    for name in ("worker", "service"):
        certified(folder, name, ours)
    certified(folder, "stranger", certified(folder, "elsewhere"))
    return folder


def settings(folder: Path, name: str, authority: str = "authority") -> WorkerSettings:
    return WorkerSettings(
        port=0,
        look_s=0.05,
        certificate=folder / f"{name}.pem",
        key=folder / f"{name}.key",
        authority=folder / f"{authority}.pem",
    )


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    server = grpc.aio.server(options=channel.SERVER_OPTIONS)
    worker = Worker(ToneEngine(), 8, Metrics())
    add_SynthesizerServicer_to_server(worker, server)  # type: ignore[no-untyped-call]
    port = channel.listening(server, settings(folder, "worker"))
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


async def test_both_sides_that_one_authority_vouches_for_talk(folder: Path) -> None:
    async with serving(folder) as address:
        remote = RemoteEngine(address, settings(folder, "service"))
        await remote.start()
        sound = [chunk async for chunk in remote.synthesize(job())]
        await remote.stop()
    assert np.concatenate(sound).size


@pytest.mark.parametrize(
    "told",
    [("stranger", "authority"), ("service", "elsewhere"), None],
    ids=["a stranger", "another authority", "no certificate"],
)
async def test_nobody_else_gets_a_word(
    folder: Path, told: tuple[str, str] | None
) -> None:
    chosen = WorkerSettings() if told is None else settings(folder, *told)
    async with serving(folder) as address, channel.opened(address, chosen) as line:
        stub = SynthesizerStub(line)  # type: ignore[no-untyped-call]
        with pytest.raises(grpc.aio.AioRpcError) as refusal:
            await stub.Describe(pb.DescribeRequest(), timeout=20)
    assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_certificate_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(YaoheError, match=r"nobody\.pem"):
        channel.opened("127.0.0.1:1", settings(folder, "nobody"))


async def test_an_address_that_is_taken_is_one_clear_error(folder: Path) -> None:
    async with serving(folder) as address:
        port = int(address.rsplit(":", 1)[1])
        server = grpc.aio.server(options=channel.SERVER_OPTIONS)
        with pytest.raises(YaoheError, match=f"cannot listen on 127.0.0.1:{port}"):
            channel.listening(server, WorkerSettings(port=port))
