from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from common.audio.opus import decode, encode_master
from common.audio.pcm import Pcm, to_s16
from common.audio.provenance import AigcLabel
from common.errors import YaoheError
from common.protocol.synthesis import parse_speech
from common.responses import speech_answer
from common.speech import Speech
from common.text import read
from common.text.receipt import Receipt
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


async def test_a_file_made_of_a_rendition_is_made_once_and_counted() -> None:
    hot, data = Hot(1_000_000), master()
    whole = await hot.whole("a", data, needs_pcm=True)
    assert whole.files is not None
    before = hot.held_bytes
    whole.files.keep("mp3", bytes(1000))
    assert hot.held_bytes == before + 1000
    again = await hot.whole("a", b"", needs_pcm=True)
    assert again.files is not None
    assert again.files.find("mp3") == bytes(1000)
    assert again.files.find("flac") is None
    assert hot.held_bytes == before + 1000
    other = await hot.whole("b", data, needs_pcm=True)
    assert other.files is not None
    assert other.files.find("mp3") is None


async def test_an_mp3_that_was_asked_twice_is_encoded_once() -> None:
    hot, data = Hot(10_000_000), master()
    request = parse_speech({"input": "好", "response_format": "mp3"})
    receipt = Receipt("u-17", read("好"), True)

    async def answer(engine: str) -> object:
        whole = await hot.whole("a", data, needs_pcm=True)
        origin = replace(BASE.provenance(AigcLabel()), engine=engine)
        said = Speech("u-17", receipt, "cache", "hit", origin, whole=whole)
        return (await speech_answer(request, said)).body

    first = await answer("one")
    assert await answer("one") is first
    assert await answer("two") != first


async def test_a_file_beyond_its_share_is_not_kept_but_its_rendition_is() -> None:
    hot = Hot(200_000)
    whole = await hot.whole("a", master(), needs_pcm=True)
    assert whole.files is not None
    whole.files.keep("flac", bytes(50_000))
    assert whole.files.find("flac") is None
    assert len(hot) == 1


def test_a_rendition_goes_through_its_columns_unchanged() -> None:
    class Row(dict[str, object]):
        """Found by name, as a row of the database is."""

    assert Rendition.from_row(Row(BASE.row())) == BASE  # type: ignore[arg-type]
