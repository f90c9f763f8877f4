"""What every test may rely on: no settings leak in, free ports, a chain and its line."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.lines import Line

# Properties are tried by count, never by the clock: a busy machine fails no test.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True, scope="session")
def _no_settings_from_outside(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """A developer's own `YAOHE_*` variables and data folders change no test."""
    data = tmp_path_factory.getbasetemp() / "data"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("YAOHE_")]:
            patch.delenv(name)
        for tier in ("CLOUD", "DISTILL", "EDGE"):
            patch.setenv(f"YAOHE_{tier}_DATA", str(data / tier.lower()))
        yield


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Gives a port of 127.0.0.1 that nobody listens on."""

    def take() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            return port

    return take


@pytest.fixture(scope="session")
def chain_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain's keys; copy them before anything is signed."""
    # Only tests of a chain load what makes one.
    from distill import signing

    folder = tmp_path_factory.mktemp("chain") / "keys"
    signing.keygen(folder)
    return folder


@pytest.fixture
async def line(
    tmp_path: Path, chain_keys: Path, free_port: Callable[[], int]
) -> AsyncIterator[Line]:
    """A cloud and a running broker, to which a test adds its boxes."""
    from tests.lines import Line

    line = Line(tmp_path, chain_keys, free_port())
    line.broker.start()
    yield line
    await line.stop()
