from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from common.sessions import Sessions
from tests.unit.stream.wire import Tones


@pytest.fixture
async def sessions() -> AsyncIterator[Sessions]:
    kept = Sessions()
    yield kept
    kept.close()


@pytest.fixture
async def tones() -> Tones:
    return Tones()
