"""The clauses' ends are known before anything is spoken."""

from __future__ import annotations

import numpy as np
import pytest

from common.text import read
from common.voice.clauses import has_words
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker

TEXT = "请二十三号顾客到三号窗口取餐，谢谢。欢迎光临！"


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    return Speaker(load_pack(starter_directory(), trusted=True))


@pytest.mark.parametrize("speed", [1.0, 1.7])
def test_clauses_end_where_the_sound_says(speaker: Speaker, speed: float) -> None:
    symbols = read(TEXT).symbols
    ends = speaker.clause_ends(symbols, voice="woman", speed=speed)
    sound = speaker.speak(symbols, voice="woman", speed=speed)
    total = sum(chunk.size for chunk in sound)
    assert [symbols[place - 1].name for place, _ in ends] == [",", ".", "!"]
    samples = [sample for _, sample in ends]
    assert samples == sorted(samples)
    assert 0 < samples[0] < samples[-1] <= total
    # After a sentence comes its closing silence, and only that.
    assert total - samples[-1] <= 0.1 * 24_000


def test_what_comes_after_a_clause_is_the_rest(speaker: Speaker) -> None:
    symbols = read(TEXT).symbols
    (first, _), (second, _), (last, _) = speaker.clause_ends(symbols, voice="woman")
    names = [symbol.name for symbol in symbols[first:second]]
    assert names == [symbol.name for symbol in read("谢谢。").symbols[1:-1]]
    assert has_words(symbols[second:])
    assert not has_words(symbols[last:])
    rest = np.concatenate(list(speaker.speak(symbols[second:], voice="woman")))
    alone = np.concatenate(
        list(speaker.speak(read("欢迎光临！").symbols, voice="woman"))
    )
    assert np.array_equal(rest, alone)


def test_symbols_stand_one_after_the_other_inside_a_sentence(
    speaker: Speaker,
) -> None:
    symbols = read(TEXT).symbols
    spans = speaker.symbol_spans(symbols, voice="woman")
    starts, ends = spans[1:-1, 0], spans[1:-1, 1]
    assert (ends >= starts).all()
    gaps = starts[1:] - ends[:-1]
    # Between the two sentences lie the tail of one and the lead of the other.
    assert np.count_nonzero(gaps) == 1
    assert spans[0].tolist() == spans[-1].tolist() == [0, 0]
    (_, first), *_ = speaker.clause_ends(symbols, voice="woman")
    comma = next(n for n, symbol in enumerate(symbols) if symbol.name == ",")
    assert ends[comma - 1] == first
