"""The receipt keeps its JSON shape."""

from __future__ import annotations

import json
from pathlib import Path

from common.text.receipt import Reading, Receipt, Span, Unread

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "receipt.json").read_text("utf-8")
)


def test_a_receipt_keeps_its_shape() -> None:
    reading = Reading(
        text="今日特价，\ufffd9.9元",
        dialect="zh",
        spoken="今日特价，九点九元",
        syllables=("jin1", "ri4", "te4", "jia4", "jiu3", "dian3", "jiu3", "yuan2"),
        surface=("jin1", "ri4", "te4", "jia4", "jiu2", "dian2", "jiu3", "yuan2"),
        spans=(
            Span(0, 4, "今日特价", "今日特价", "word", 0, 4),
            Span(4, 5, "，", "", "silent.punctuation", 4, 0),
            Span(5, 6, "\ufffd", "", "unread", 4, 0),
            Span(6, 10, "9.9元", "九点九元", "money.price", 4, 4),
        ),
        unread=(Unread(5, 6, "\ufffd"),),
        units=(),
        symbols=(),
    )
    receipt = Receipt("00112233445566778899aabbccddeeff", reading, enforced=True)
    assert receipt.as_dict() == GOLDEN
