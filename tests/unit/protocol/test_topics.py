"""MQTT topics from strangers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol import topics

LEVELS = st.sampled_from(
    [
        *("t1", "e", "in", "ev", "cmd", "birth", "state", "tuf", "timestamp", "job"),
        *("cat", "head", "log", "blob", "need", "all", "g", "voice", "demo", "box"),
        *("0", "7", "", "+", "#", "a" * 64, "店", "\0", " "),
    ]
)
NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def _attempt(topic: str) -> topics.Topic | YaoheError:
    try:
        return topics.parse(topic)
    except YaoheError as error:
        return error


def _read(topic: str) -> None:
    result = _attempt(topic)
    if isinstance(result, YaoheError):
        assert result.code == "invalid_request"
    else:
        assert str(result) == topic


@given(st.text())
def test_any_text_gives_a_topic_or_an_error_of_ours(topic: str) -> None:
    _read(topic)


@given(st.lists(LEVELS, min_size=2, max_size=8))
def test_any_levels_give_a_topic_or_an_error_of_ours(levels: list[str]) -> None:
    _read("/".join(["t1", *levels]))


@given(NAMES, NAMES, st.integers(0, 10**15 - 1))
def test_a_topic_comes_back_as_it_was(chain: str, box: str, number: int) -> None:
    for topic in (
        topics.Command(chain, box),
        topics.Event(chain, box, number),
        topics.Need(chain, number, box),
        topics.Head(chain, topics.group(box)),
        topics.Log(chain, topics.voice(box, "gd")),
    ):
        assert topics.parse(str(topic)) == topic


@given(st.text(), st.text())
def test_no_part_can_make_a_topic_of_another_box(chain: str, box: str) -> None:
    try:
        topic = str(topics.Command(chain, box))
    except YaoheError:
        return
    assert topic.split("/") == ["t1", chain, "e", box, "cmd"]


def test_a_very_long_topic_is_refused_at_once() -> None:
    _read("t1/" + "a/" * 10**6)
