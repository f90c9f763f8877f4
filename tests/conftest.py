"""What every test may rely on: no settings of the machine leak in, and free ports."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
