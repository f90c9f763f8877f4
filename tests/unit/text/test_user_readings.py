"""What users decide: inline overrides, the shop's lexicon, context hints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.text import Lexicon, LexiconFile, read


def test_an_inline_reading_wins_over_the_dictionary() -> None:
    assert read("银{行|xing2}").surface == ("yin2", "xing2")


def test_an_inline_reading_is_spared_from_sandhi() -> None:
    assert read("{你|ni3}好").surface == ("ni3", "hao3")


def test_an_inline_alias_is_said_instead() -> None:
    reading = read("只要{9.9|=九块九}！")
    assert reading.spoken == "只要九块九！"
    assert [s.rule for s in reading.spans if s.text == "9.9"] == ["user.reading"]


def test_inline_letters_spell_a_word() -> None:
    assert read("{VoLTE|letters}").syllables == (
        *("V.IY1", "OW1", "EH1.L", "T.IY1", "IY1"),
    )


def test_an_inline_mistake_is_unread_and_never_guessed() -> None:
    reading = read("{行|hang9}")
    assert [gap.text for gap in reading.unread] == ["{行|hang9}"]


def test_cantonese_takes_jyutping_overrides() -> None:
    assert read("銀{行|haang4}", "gd").surface == ("ngan4", "haang4")


def test_a_lexicon_wins_over_rules_and_dictionary() -> None:
    lexicon = Lexicon.parse("6.18\t=六月十八日\n说服\tshui4 fu2\n")
    reading = read("6.18说服你", lexicon=lexicon)
    assert reading.spoken == "六月十八日说服你"
    assert reading.surface[4:] == ("ri4", "shui4", "fu2", "ni3")


def test_an_inline_override_wins_over_the_lexicon() -> None:
    lexicon = Lexicon.parse("行\txing2\n")
    assert read("{行|hang2}", lexicon=lexicon).surface == ("hang2",)


def test_a_lexicon_word_never_matches_inside_a_latin_word_or_a_number() -> None:
    lexicon = Lexicon.parse("HT\t=核糖\n9.9\t=久久\n")
    assert read("HTML 19.9", lexicon=lexicon).spoken == read("HTML 19.9").spoken


def test_a_lexicon_entry_holds_for_its_dialects_only() -> None:
    lexicon = Lexicon.parse("行\tngo5\tgd\n")
    assert read("行", "gd", lexicon=lexicon).surface == ("ngo5",)
    assert read("行", lexicon=lexicon).surface == ("xing2",)


def test_traditional_text_meets_a_simplified_entry() -> None:
    lexicon = Lexicon.parse("台湾\t=宝岛\n")
    assert read("臺灣", lexicon=lexicon).spoken == "宝岛"


@pytest.mark.parametrize(
    ("text", "line"),
    [("行", 1), ("# x\n行\tq9\n", 2), ("行\thang2\txx", 1), ("\thang2", 1)],
)
def test_a_wrong_line_of_a_lexicon_is_named(text: str, line: int) -> None:
    with pytest.raises(YaoheError, match=f"line {line}") as caught:
        Lexicon.parse(text)
    assert caught.value.code == "invalid_request"


def test_an_edited_lexicon_holds_at_once_and_a_broken_one_keeps_the_old(
    tmp_path: Path,
) -> None:
    path = tmp_path / "words.tsv"
    file = LexiconFile(path)
    assert read("行", lexicon=file.current()).surface == ("xing2",)
    path.write_text("行\thang2\n", "utf-8")
    assert read("行", lexicon=file.current()).surface == ("hang2",)
    path.write_text("行\tnonsense\n", "utf-8")
    os.utime(path, ns=(1, 1))
    assert read("行", lexicon=file.current()).surface == ("hang2",)
    assert "line 1" in file.problem


@pytest.mark.parametrize(
    ("text", "context", "spoken"),
    [
        ("10.9", "date", "十月九日"),
        ("10.9", "price", "十点九元"),
        ("10.30", "time", "十点三十分"),
        ("10086", "telephone", "幺零零八六"),
        ("1024", "digits", "一零二四"),
        ("10.9", "no such hint", "十点九"),
        ("10.9元", "date", "十点九元"),
    ],
)
def test_a_context_hint_settles_ambiguous_forms(
    text: str, context: str, spoken: str
) -> None:
    assert read(text, context=context).spoken == spoken
