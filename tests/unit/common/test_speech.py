"""What may become sound, and the two forms it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from common.audio.provenance import Provenance
from common.errors import YaoheError
from common.protocol.synthesis import mended, parse_speech
from common.speech import Speech, Whole, new_utterance, require_speakable
from common.text import read
from common.text.receipt import Receipt, Unread


def _refusal(text: str, **more: str) -> YaoheError:
    request = parse_speech({"input": text, **more})
    with pytest.raises(YaoheError) as refusal:
        require_speakable(read(request.input, request.dialect), request)
    return refusal.value


def test_a_text_that_is_read_may_be_spoken() -> None:
    request = parse_speech({"input": "今日特价，买一送一。"})
    require_speakable(read(request.input), request)


def test_unread_characters_fail_the_call_and_the_error_shows_where() -> None:
    error = _refusal("特价\ue0009元")
    assert (error.code, error.param) == ("unreadable_text", "input")
    assert error.data is not None
    assert error.data["unread"] == [{"start": 2, "end": 3, "text": "\ue000"}]


def test_a_caller_may_skip_what_cannot_be_read() -> None:
    request = parse_speech({"input": "特价\ue0009元", "on_unreadable": "skip"})
    require_speakable(read(request.input), request)


@pytest.mark.parametrize("text", ["。。。！", "🎉🎉", "……", "— ,"])
def test_a_text_without_a_syllable_says_nothing(text: str) -> None:
    assert _refusal(text).code == "nothing_to_say"


def test_skipping_everything_says_nothing() -> None:
    assert _refusal("\ue000", on_unreadable="skip").code == "nothing_to_say"


def test_mending_keeps_every_position() -> None:
    assert len(mended("价\ud83d格")) == 3


def test_a_speech_is_whole_or_in_chunks() -> None:
    async def chunks() -> AsyncIterator[NDArray[np.float32]]:
        yield np.zeros(1, np.float32)

    receipt = Receipt("u", read("好"), enforced=True)
    provenance = Provenance(engine="packed")
    whole = Whole(0.1, pcm=np.zeros(2400, np.float32))
    Speech("u", receipt, "edge", "asked", provenance, whole=whole)
    with pytest.raises(ValueError, match="either"):
        Speech("u", receipt, "edge", "asked", provenance)
    with pytest.raises(ValueError, match="either"):
        Speech("u", receipt, "edge", "asked", provenance, whole, chunks())


def test_a_whole_rendition_has_sound() -> None:
    with pytest.raises(ValueError, match="samples or a master"):
        Whole(0.1)


def test_utterances_differ() -> None:
    assert len({new_utterance() for _ in range(100)}) == 100


def test_what_nobody_can_read_is_shown_as_it_stood_on_the_screen() -> None:
    request = parse_speech({"input": "特价ไทย"})
    with pytest.raises(YaoheError, match="nobody can read 'ไทย'"):
        require_speakable(read(request.input), request)


def test_half_a_character_does_not_break_the_message() -> None:
    request = parse_speech({"input": "特价ไ"})
    reading = replace(read("特价"), unread=(Unread(2, 3, "\ud800"),), text="特价\ud800")
    with pytest.raises(YaoheError) as refused:
        require_speakable(reading, request)
    assert refused.value.message.encode() == rb"nobody can read '\ud800'"
