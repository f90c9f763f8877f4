"""The SSML subset: what it changes, what it ignores, and that nothing expands."""

from __future__ import annotations

import time

import pytest

from common.text import MAX_CHARACTERS, read
from common.text.symbols import BREAK


def test_a_break_becomes_a_pause_of_its_length() -> None:
    units = read('一<break time="1.5s"/>二', ssml=True).units
    assert [(u.value, u.ms) for u in units if u.is_pause] == [(BREAK, 1500)]


def test_prosody_sets_speed_pitch_and_volume_of_its_text_only() -> None:
    text = '<prosody rate="50%" pitch="-2st" volume="+6dB">慢</prosody>快'
    slow, fast = read(text, ssml=True).units
    assert (slow.speed, slow.pitch, slow.volume) == (500, -200, 600)
    assert (fast.speed, fast.pitch, fast.volume) == (1000, 0, 0)


def test_emphasis_is_slower_and_louder() -> None:
    (unit,) = read('<emphasis level="strong">买</emphasis>', ssml=True).units
    assert unit.speed < 1000
    assert unit.volume > 0


def test_sub_says_its_alias() -> None:
    assert read('<sub alias="人民币">RMB</sub>', ssml=True).spoken == "人民币"


def test_phoneme_fixes_a_reading() -> None:
    text = '<phoneme alphabet="pinyin" ph="hang2">行</phoneme>'
    assert read(text, ssml=True).surface == ("hang2",)


def test_a_phoneme_of_another_alphabet_is_unread() -> None:
    text = '<phoneme alphabet="ipa" ph="xəŋ">行</phoneme>'
    assert [gap.text for gap in read(text, ssml=True).unread] == ["行"]


@pytest.mark.parametrize(
    ("kind", "text", "spoken"),
    [
        ("telephone", "10086", "幺零零八六"),
        ("digits", "2026", "二零二六"),
        ("cardinal", "2026", "两千零二十六"),
        ("ordinal", "2", "第二"),
        ("date", "10.1", "十月一日"),
        ("time", "9.05", "九点零五分"),
        ("currency", "9.9", "九点九元"),
        ("fraction", "1/2", "二分之一"),
        ("characters", "A1", "A 一"),
        ("nothing known", "2件", "两件"),
    ],
)
def test_say_as_names_the_kind(kind: str, text: str, spoken: str) -> None:
    marked = f'<say-as interpret-as="{kind}">{text}</say-as>'
    assert read(marked, ssml=True).spoken == spoken


def test_lang_switches_the_dialect_of_its_text() -> None:
    reading = read('你好<lang xml:lang="zh-HK">你好</lang>', ssml=True)
    assert reading.surface == ("ni2", "hao3", "nei5", "hou2")


def test_an_unknown_tag_keeps_its_text() -> None:
    assert read("<p>你<foo bar='1'>好</foo></p>", ssml=True).spoken == "你好"


def test_entities_are_characters() -> None:
    assert read("H&amp;M", ssml=True).spoken == "H and M"


def test_an_entity_may_be_the_end_of_a_syllable() -> None:
    reading = read("花&#20799;", ssml=True)
    assert reading.surface == ("huar1",)
    assert [span.count for span in reading.spans] == [1, 0]


def test_a_document_type_is_unread_and_expands_nothing() -> None:
    text = '<!DOCTYPE s [<!ENTITY a "b">]>好&a;'
    reading = read(text, ssml=True)
    assert reading.unread[0].text.startswith("<!DOCTYPE")
    assert len(reading.spoken) < len(text)


def test_spans_cover_the_markup_too() -> None:
    text = "<speak>9.9<break/>元 &lt; <b>10</b></speak>"
    reading = read(text, ssml=True)
    assert "".join(span.text for span in reading.spans) == text


@pytest.mark.parametrize("part", ["<!", "<![", "<?", "<a ", "&#65;", "<a b='c'>", "<"])
def test_hostile_markup_costs_linear_time(part: str) -> None:
    def seconds(length: int) -> float:
        text = (part * length)[:length]
        start = time.process_time()
        read(text, ssml=True)
        return time.process_time() - start

    seconds(1000)
    # Eight times the text may take eight times as long, never its square.
    assert seconds(MAX_CHARACTERS // 10) < 40 * max(
        seconds(MAX_CHARACTERS // 80), 0.005
    )
