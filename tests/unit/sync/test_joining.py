"""What a box tells its cloud of an utterance."""

from __future__ import annotations

import dataclasses

import numpy as np

from common.audio.provenance import Provenance
from common.phrase import phrase_key
from common.protocol.synthesis import SpeechRequest, Tier, parse_speech
from common.speech import Speech, Whole
from common.text import read
from common.text.receipt import Receipt
from edge.sync.joining import MAX_READ_AGAIN, spoken

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"


def asked(text: str) -> SpeechRequest:
    return parse_speech({"input": text})


def said(text: str, tier: Tier) -> Speech:
    reading = read(text)
    if tier == "cloud":
        # As a cloud tells it: its symbols stay with it.
        reading = dataclasses.replace(reading, units=(), symbols=())
    receipt = Receipt("0" * 32, reading, True)
    origin = Provenance("packed")
    return Speech(
        "0" * 32, receipt, tier, "", origin, Whole(0.02, np.zeros(480, np.float32))
    )


def test_a_phrase_has_one_key_whoever_speaks_it() -> None:
    by_box = spoken(asked(TEXT), said(TEXT, "edge"), "")
    by_cloud = spoken(asked(TEXT), said(TEXT, "cloud"), "")
    assert by_cloud == by_box
    assert by_box is not None
    symbols = read(TEXT).symbols
    assert by_box.key == phrase_key(symbols, voice="woman", dialect="zh")


def test_long_text_of_the_cloud_is_not_read_again() -> None:
    long = "好" * (MAX_READ_AGAIN + 1)
    assert spoken(asked(long), said(long, "cloud"), "") is None
    assert spoken(asked(long), said(long, "edge"), "") is not None
