from __future__ import annotations

from pathlib import Path

import pytest

from common.phrase import phrase_key
from common.protocol.synthesis import parse_speech
from common.text import RULES_VERSION, LexiconFile
from edge import readings as module
from edge.readings import MAX_REMEMBERED_CHARACTERS, Readings


async def test_a_text_is_read_once() -> None:
    readings = Readings(10)
    assert await readings.read("你好", "zh") is await readings.read("你好", "zh")


async def test_a_dialect_is_another_reading() -> None:
    readings = Readings(10)
    assert await readings.read("你好", "zh") is not await readings.read("你好", "sc")


async def test_other_words_in_the_lexicon_make_it_another_reading(
    tmp_path: Path,
) -> None:
    own = tmp_path / "own.tsv"
    readings = Readings(10, LexiconFile(own))
    before = await readings.read("说服你", "zh")
    own.write_text("说服\tshui4 fu2\n", "utf-8")
    after = await readings.read("说服你", "zh")
    assert after.reading.surface == ("shui4", "fu2", "ni3")
    assert before.lexicon_sha256 == ""
    assert after.lexicon_sha256 == LexiconFile(own).current().digest
    assert (await readings.read("你好", "zh")).lexicon_sha256 == ""


async def test_a_hint_or_markup_makes_it_another_reading() -> None:
    readings = Readings(10)
    said = {
        (await readings.read("10.9", "zh", context=context)).reading.spoken
        for context in (None, "price", "date")
    }
    assert len(said) == 3
    text = "<sub alias='甲'>乙</sub>"
    plain = await readings.read(text, "zh")
    assert (await readings.read(text, "zh", ssml=True)).reading.spoken == "甲"
    assert plain.reading.spoken != "甲"


async def test_other_rules_make_it_another_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = Readings(10)
    before = await readings.read("你好", "zh")
    monkeypatch.setattr(module, "RULES_VERSION", RULES_VERSION + 1)
    assert await readings.read("你好", "zh") is not before


async def test_the_least_recently_used_leaves_first() -> None:
    readings = Readings(2)
    one = await readings.read("一", "zh")
    await readings.read("二", "zh")
    assert await readings.read("一", "zh") is one
    await readings.read("三", "zh")
    assert len(readings) == 2
    assert await readings.read("一", "zh") is one


async def test_long_texts_are_read_and_not_remembered() -> None:
    readings = Readings(10)
    found = await readings.read("好" * (MAX_REMEMBERED_CHARACTERS + 1), "zh")
    assert len(found.reading.syllables) == MAX_REMEMBERED_CHARACTERS + 1
    assert len(readings) == 0


async def test_the_key_is_the_one_that_the_cloud_computes() -> None:
    found = await Readings(10).read("第12桌请取餐", "zh")
    for values in ({}, {"speed": 1.5}, {"pitch": -2.0, "volume": 3.0}):
        request = parse_speech({"input": "第12桌请取餐", **values})
        for _ in range(2):
            assert found.key(request) == phrase_key(
                found.reading.symbols, voice="woman", dialect="zh", **values
            )


async def test_a_client_that_tries_every_speed_does_not_fill_the_memory() -> None:
    found = await Readings(10).read("你好", "zh")
    for step in range(200):
        found.key(parse_speech({"input": "你好", "speed": 0.5 + step / 100}))
    assert len(found._keys) <= module.MAX_KEYS
