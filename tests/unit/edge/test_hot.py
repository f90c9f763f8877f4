from __future__ import annotations

import numpy as np
import pytest

from common.audio.opus import decode, encode_master
from common.audio.pcm import Pcm, to_s16
from common.errors import YaoheError
from edge.hot import Hot
from edge.rendition import Rendition
from tests.unit.edge.test_cache import BASE


def tone(hertz: int, seconds: float = 0.5) -> Pcm:
    time = np.arange(int(24_000 * seconds)) / 24_000
    return (0.3 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def master(hertz: int = 440, seconds: float = 0.5) -> bytes:
    return encode_master(tone(hertz, seconds)).to_bytes()


async def test_samples_are_those_of_the_master_and_come_when_needed() -> None:
    hot, data = Hot(10_000_000), master()
    coded = await hot.whole("a", data, needs_pcm=False)
    assert coded.pcm is None
    whole = await hot.whole("a", data, needs_pcm=True)
    assert whole.opus is not None
    assert whole.pcm is not None
    assert to_s16(whole.pcm) == to_s16(decode(whole.opus))


async def test_a_master_is_parsed_once() -> None:
    hot, data = Hot(10_000_000), master()
    first = await hot.whole("a", data, needs_pcm=False)
    assert (await hot.whole("a", b"not even looked at", needs_pcm=False)).opus is (
        first.opus
    )


async def test_memory_stays_within_its_budget_and_the_oldest_leaves() -> None:
    budget = 200_000
    hot = Hot(budget)
    for number in range(20):
        await hot.whole(str(number), master(300 + number), needs_pcm=True)
        assert hot.held_bytes <= budget
    assert 0 < len(hot) < 20
    with pytest.raises(YaoheError):
        await hot.whole("0", b"", needs_pcm=False)
    await hot.whole("19", b"", needs_pcm=False)


async def test_what_is_larger_than_its_share_passes_through() -> None:
    hot = Hot(1000)
    assert (await hot.whole("a", master(), needs_pcm=True)).pcm is not None
    assert (len(hot), hot.held_bytes) == (0, 0)


def test_a_rendition_goes_through_its_columns_unchanged() -> None:
    class Row(dict[str, object]):
        """Found by name, as a row of the database is."""

    assert Rendition.from_row(Row(BASE.row())) == BASE  # type: ignore[arg-type]
