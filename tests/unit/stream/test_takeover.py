from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import numpy as np
import pytest

from common.audio.pcm import Pcm
from common.audio.provenance import Provenance
from common.errors import YaoheError
from common.speech import Pauses, Speech
from common.text import read
from common.text.receipt import Receipt
from edge.cloud_sound import CloudSound
from edge.takeover import Rest, Takeover

PIECE = 1000
CLAUSES: Pauses = ((10, 4000), (20, 8000), (30, 12_000))
LOCAL = -0.5


class Sound:
    """The cloud's sound: as many pieces as it gives before something happens."""

    is_cut = False

    def __init__(self, pieces: int, then: BaseException | None = None) -> None:
        self.left, self.then = pieces, then
        self.count = 0
        self.closed = 0

    async def __anext__(self) -> Pcm:
        if self.left == 0:
            if self.then is None:
                await asyncio.sleep(3600)
            raise cast(BaseException, self.then)
        self.left -= 1
        self.count += 1
        return np.full(PIECE, self.count, np.float32)

    async def aclose(self) -> None:
        self.closed += 1


class Box:
    """Goes on from a symbol with one constant sound."""

    def __init__(self, can: bool = True) -> None:
        self.can = can
        self.asked: list[int] = []

    async def __call__(self, first: int) -> Rest | None:
        self.asked.append(first)
        if not self.can:
            raise YaoheError("voice_unavailable", "no pack here")
        if first >= 30:
            return None

        async def chunks() -> AsyncIterator[Pcm]:
            yield np.full(500, LOCAL, np.float32)

        return Rest(chunks(), "edge", "woman", "woman")


def speech() -> Speech:
    async def none() -> AsyncIterator[Pcm]:
        yield np.zeros(1, np.float32)

    reading = read("一，二，三。")
    return Speech(
        "a" * 32,
        Receipt("a" * 32, reading, True),
        tier="cloud",
        reason="",
        provenance=Provenance("x"),
        chunks=none(),
    )


async def heard(
    sound: Sound,
    box: Box,
    pauses: Pauses = CLAUSES,
    clock: Callable[[], float] | None = None,
) -> tuple[Speech, list[float]]:
    told = speech()
    options: dict[str, Any] = {"clock": clock} if clock else {}
    take = Takeover(told, cast(CloudSound, sound), box, pauses, **options)
    pcm = [chunk async for chunk in take]
    values = np.concatenate(pcm) if pcm else np.zeros(0)
    return told, [float(value) for value in values[::500]]


def cloud(first: int, last: int) -> list[float]:
    return [float(n) for n in range(first, last + 1) for _ in range(2)]


async def test_a_cloud_that_ends_well_is_heard_to_the_last_sample() -> None:
    box = Box()
    told, values = await heard(Sound(13, StopAsyncIteration()), box)
    assert values == cloud(1, 13)
    assert (told.tiers, told.notes, box.asked) == (["cloud"], [], [])


@pytest.mark.parametrize(
    ("pieces", "whole", "symbol"),
    [(5, 4, 10), (7, 4, 10), (8, 8, 20), (11, 8, 20)],
)
async def test_the_box_goes_on_where_a_clause_ends(
    pieces: int, whole: int, symbol: int
) -> None:
    box = Box()
    broken = YaoheError("voice_unavailable", "its socket broke")
    told, values = await heard(Sound(pieces, broken), box)
    assert values == [*cloud(1, whole), LOCAL]
    assert box.asked == [symbol]
    assert told.tiers == ["cloud", "edge"]
    assert told.substituted == "woman"
    assert told.notes == [
        f"the cloud stopped after {whole / 24:.2f} s (its socket broke); "
        f"from clause {symbol // 10 + 1} on: woman"
    ]


async def test_a_first_clause_cut_short_is_begun_again() -> None:
    box = Box()
    broken = YaoheError("voice_unavailable", "its socket broke")
    told, values = await heard(Sound(2, broken), box)
    assert values == [*cloud(1, 2), LOCAL]
    assert box.asked == [0]
    assert "from the beginning on" in told.notes[0]


async def test_without_known_clauses_nothing_is_left_out() -> None:
    box = Box()
    broken = YaoheError("voice_unavailable", "its socket broke")
    _, values = await heard(Sound(9, broken), box, pauses=())
    assert (values, box.asked) == ([*cloud(1, 9), LOCAL], [0])


async def test_a_cloud_that_breaks_after_the_last_word_is_not_repeated() -> None:
    box = Box()
    broken = YaoheError("voice_unavailable", "its socket broke")
    told, values = await heard(Sound(12, broken), box)
    assert values == cloud(1, 12)
    assert (told.tiers, box.asked) == (["cloud"], [30])
    assert "everything said" in told.notes[0]


async def test_a_cloud_that_falls_silent_is_not_waited_for_long() -> None:
    box, sound = Box(), Sound(4)
    told, values = await asyncio.wait_for(heard(sound, box), 60)
    assert values == [*cloud(1, 4), LOCAL]
    assert "it fell silent" in told.notes[0]
    assert sound.closed == 1


async def test_where_nobody_can_go_on_the_cause_is_told() -> None:
    broken = YaoheError("internal_error", "the cloud broke")
    with pytest.raises(YaoheError, match="no pack here"):
        await heard(Sound(5, broken), Box(can=False))
