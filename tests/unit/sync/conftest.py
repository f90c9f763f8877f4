"""Parts that the tests of the line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.brokers import Mosquitto


@pytest.fixture
def broker(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Mosquitto]:
    """A running broker without TLS."""
    mosquitto = Mosquitto.plain(tmp_path / "broker", free_port()).start()
    yield mosquitto
    mosquitto.stop()
