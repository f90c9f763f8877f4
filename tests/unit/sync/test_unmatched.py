"""A phrase that the chain reads by words of its own is noticed where they are missing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.phrase import phrase_key
from common.protocol.rendition import SentRendition
from common.text import Lexicon, LexiconFile, read
from edge.cache import Cache
from edge.sync import unmatched
from edge.sync.shelf import Shelf
from edge.sync.unmatched import Matching, Unmatched

WORDS = "重瓣\tchong2 ban4\n"
TEXT = "重瓣玫瑰"
PLAIN = "今日特价"
PACKS = Lexicon()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    cache = Cache(
        tmp_path / "cache.db", budget_bytes=1 << 20, min_free_bytes=0, now=time.time
    )
    cache.store.wait_settled(20)
    yield Shelf(cache, 1 << 20)
    cache.close()


def lexicon(folder: Path, words: str = WORDS) -> LexiconFile:
    path = folder / "words.tsv"
    path.write_text(words, "utf-8")
    return LexiconFile(path)


def sent(text: str, words: Lexicon | None = None) -> SentRendition:
    symbols = read(text, lexicon=words).symbols
    return SentRendition(
        key=bytes.fromhex(phrase_key(symbols, voice="woman", dialect="zh")),
        text=text,
        voice="woman",
        dialect="zh",
        engine="hum",
        lexicon_sha256=words.digest if words else "",
        enforced=True,
        duration_ms=100,
        master=text.encode(),
    )


async def test_a_phrase_that_needs_the_chains_words_is_told_until_they_are_here(
    shelf: Shelf, tmp_path: Path
) -> None:
    chain = lexicon(tmp_path).current()
    await shelf.put(sent(PLAIN))
    await shelf.put(sent(TEXT, chain))
    found = Matching(shelf, None).look(PACKS)
    assert found == Unmatched(1, TEXT, chain.digest)

    assert Matching(shelf, lexicon(tmp_path)).look(PACKS) == Unmatched()
    assert Matching(shelf, None).look(chain) == Unmatched(), "a pack may bring them"


async def test_words_that_come_later_are_heeded(shelf: Shelf, tmp_path: Path) -> None:
    chain = lexicon(tmp_path).current()
    await shelf.put(sent(TEXT, chain))
    own = lexicon(tmp_path, "别的\tbie2 de5\n")
    matching = Matching(shelf, own)
    assert matching.look(PACKS).phrases == 1
    lexicon(tmp_path, WORDS + "# and more\n")
    assert matching.look(PACKS) == Unmatched()


async def test_a_cloud_that_names_no_lexicon_is_found_out_by_the_reading(
    shelf: Shelf, tmp_path: Path
) -> None:
    nameless = sent(TEXT, lexicon(tmp_path).current())
    await shelf.put(nameless.model_copy(update={"lexicon_sha256": ""}))
    assert Matching(shelf, None).look(PACKS) == Unmatched(1, TEXT, "")


async def test_many_phrases_are_looked_at_a_few_at_a_time(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unmatched, "MAX_CHARACTERS", len(TEXT) + 1)
    chain = lexicon(tmp_path).current()
    for number in range(4):
        await shelf.put(sent(f"{TEXT}{number}", chain))
    matching = Matching(shelf, None)
    counts = [matching.look(PACKS).phrases for _ in range(6)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 4


async def test_a_phrase_that_left_counts_no_more(shelf: Shelf, tmp_path: Path) -> None:
    one = sent(TEXT, lexicon(tmp_path).current())
    await shelf.put(one)
    matching = Matching(shelf, None)
    assert matching.look(PACKS).phrases == 1
    await shelf.drop([one.key.hex()])
    assert matching.look(PACKS) == Unmatched()
