"""What a lexicon decided, written into the text, sounds the same without it."""

from __future__ import annotations

import pytest

from common.text import Lexicon, read
from common.text.carry import carried

OWN = Lexicon.parse(
    "说服\tshui4 fu2\n6.18\t=六月十八日\nXiaomi\tSH.AW1 M.IY2\nVoLTE\tletters\n"
    "銀行\tngan4 haang4\tgd\nA&B\t=甲和乙\n"
)


@pytest.mark.parametrize(
    ("text", "dialect", "ssml"),
    [
        ("6.18说服你买Xiaomi手机，支持VoLTE。", "zh", False),
        ("銀行喺邊度？6.18見", "gd", False),
        (
            "<speak>6.18<prosody rate='slow'>说服</prosody>你，A&amp;B</speak>",
            "zh",
            True,
        ),
        ("说服你{行|hang2}，全场8.5折", "zh", False),
    ],
)
def test_a_carried_text_sounds_the_same_without_the_lexicon(
    text: str, dialect: str, ssml: bool
) -> None:
    ours = read(text, dialect, lexicon=OWN, ssml=ssml)
    assert ours.symbols != read(text, dialect, ssml=ssml).symbols
    theirs = read(carried(ours, ssml=ssml), dialect, ssml=ssml)
    assert theirs.symbols == ours.symbols


def test_what_no_lexicon_decided_is_carried_as_it_is() -> None:
    text = "今日特价，{9.9|=九块九}元"
    assert carried(read(text, lexicon=OWN)) == text
