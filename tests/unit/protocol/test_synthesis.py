"""The speech request: what clients send, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol.synthesis import (
    FORMATS,
    MAX_INPUT_CHARACTERS,
    MAX_LONG_CHARACTERS,
    SpeechRequest,
    mended,
    parse_long_speech,
    parse_speech,
)

OPENAI_VOICES = (
    *("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable"),
    *("marin", "nova", "onyx", "sage", "shimmer", "verse"),
)


def _refusal(values: object) -> tuple[str, str | None]:
    with pytest.raises(YaoheError) as refusal:
        parse_speech(values)
    return refusal.value.code, refusal.value.param


def test_a_text_alone_is_enough() -> None:
    request = parse_speech({"input": "今日特价"})
    assert request == SpeechRequest(input="今日特价")
    assert (request.model, request.voice, request.dialect) == ("yaohe", "woman", "zh")
    assert (request.response_format, request.speed) == ("mp3", 1.0)
    assert request.on_unreadable == "fail"
    assert request.fallback == "none"


@pytest.mark.parametrize("voice", OPENAI_VOICES)
def test_the_voices_of_openai_are_the_default(voice: str) -> None:
    assert parse_speech({"input": "好", "voice": voice}).voice == "woman"
    assert parse_speech({"input": "好", "voice": {"id": voice}}).voice == "woman"


@pytest.mark.parametrize(
    "model",
    [
        "tts-1",
        "tts-1-hd",
        "tts-1-1106",
        "gpt-4o-mini-tts",
        "gpt-4o-mini-tts-2025-12-15",
    ],
)
def test_the_models_of_openai_are_the_default(model: str) -> None:
    assert parse_speech({"input": "好", "model": model}).model == "yaohe"


def test_other_voices_and_models_pass_to_who_knows_them() -> None:
    request = parse_speech({"input": "好", "voice": "man", "model": "kokoro"})
    assert (request.voice, request.model) == ("man", "kokoro")


def test_a_simple_client_may_call_the_dialect_speaker() -> None:
    assert parse_speech({"input": "好", "speaker": "gd"}).dialect == "gd"
    both = {"input": "好", "speaker": "gd", "dialect": "sc"}
    assert parse_speech(both).dialect == "sc"
    assert _refusal({"input": "好", "speaker": "fr"}) == ("unknown_dialect", "speaker")
    assert _refusal({"input": "好", "speaker": 1}) == ("invalid_request", "speaker")


def test_a_query_has_only_strings() -> None:
    query = {
        "input": "好",
        "speed": "1.5",
        "seed": "7",
        "receipt": "true",
        "pitch": "-2",
    }
    request = parse_speech(query)
    assert (request.speed, request.seed, request.pitch) == (1.5, 7, -2.0)
    assert request.receipt


def test_null_is_absent_and_unknown_fields_are_ignored() -> None:
    values = {"input": "好", "voice": None, "seed": None, "colour": "red", "user": 3}
    assert parse_speech(values) == SpeechRequest(input="好")


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\u2003"])
def test_a_blank_text_says_nothing(text: str) -> None:
    assert _refusal({"input": text}) == ("nothing_to_say", "input")


def test_a_text_may_have_4096_characters_and_no_more() -> None:
    longest = "好" * MAX_INPUT_CHARACTERS
    assert parse_speech({"input": longest}).input == longest
    assert _refusal({"input": longest + "。"}) == ("input_too_long", "input")
    assert _refusal({"input": "好" * 100_000}) == ("input_too_long", "input")


def test_the_text_of_a_stream_or_job_may_have_20000_characters_and_no_more() -> None:
    longest = "好" * MAX_LONG_CHARACTERS
    assert parse_long_speech({"input": longest}).input == longest
    with pytest.raises(YaoheError, match="20000") as refusal:
        parse_long_speech({"input": longest + "。"})
    assert (refusal.value.code, refusal.value.param) == ("input_too_long", "input")


@pytest.mark.parametrize(
    ("values", "code", "param"),
    [
        ([], "invalid_request", None),
        (None, "invalid_request", None),
        ("text", "invalid_request", None),
        ({}, "invalid_request", "input"),
        ({"input": None}, "invalid_request", "input"),
        ({"input": 5}, "invalid_request", "input"),
        ({"input": ["好"]}, "invalid_request", "input"),
        ({"input": "好", "voice": {}}, "invalid_request", "voice"),
        ({"input": "好", "voice": ["man"]}, "invalid_request", "voice"),
        ({"input": "好", "voice": ""}, "unknown_voice", "voice"),
        ({"input": "好", "voice": "../man"}, "unknown_voice", "voice"),
        ({"input": "好", "voice": "v" * 65}, "unknown_voice", "voice"),
        ({"input": "好", "voice": "\ud800"}, "unknown_voice", "voice"),
        ({"input": "好", "dialect": "fr"}, "unknown_dialect", "dialect"),
        ({"input": "好", "dialect": "\udfff"}, "unknown_dialect", "dialect"),
        ({"input": "好", "dialect": 1}, "invalid_request", "dialect"),
        ({"input": "好", "temperature": 2.1}, "invalid_request", "temperature"),
        ({"input": "好", "top_p": 0}, "invalid_request", "top_p"),
        ({"input": "好", "top_k": True}, "invalid_request", "top_k"),
        (
            {"input": "好", "repetition_penalty": "x"},
            "invalid_request",
            "repetition_penalty",
        ),
        ({"input": "好", "response_format": "ogg"}, "unsupported_format", None),
        ({"input": "好", "response_format": "\ud800"}, "unsupported_format", None),
        ({"input": "好", "response_format": 1}, "invalid_request", None),
        ({"input": "好", "speed": 0.24}, "invalid_request", "speed"),
        ({"input": "好", "speed": 4.01}, "invalid_request", "speed"),
        ({"input": "好", "speed": True}, "invalid_request", "speed"),
        ({"input": "好", "speed": "fast"}, "invalid_request", "speed"),
        ({"input": "好", "speed": float("nan")}, "invalid_request", "speed"),
        ({"input": "好", "speed": float("inf")}, "invalid_request", "speed"),
        ({"input": "好", "pitch": 13}, "invalid_request", "pitch"),
        ({"input": "好", "volume": "nan"}, "invalid_request", "volume"),
        ({"input": "好", "seed": -1}, "invalid_request", "seed"),
        ({"input": "好", "seed": 1.5}, "invalid_request", "seed"),
        ({"input": "好", "seed": "9" * 5000}, "invalid_request", "seed"),
        ({"input": "好", "stream_format": "ws"}, "invalid_request", "stream_format"),
        ({"input": "好", "on_unreadable": "?"}, "invalid_request", "on_unreadable"),
        ({"input": "好", "fallback": "zh"}, "invalid_request", "fallback"),
        ({"input": "好", "deadline_ms": 0}, "invalid_request", "deadline_ms"),
        ({"input": "好", "receipt": "perhaps"}, "invalid_request", "receipt"),
        ({"input": "好", "model": "m" * 65}, "invalid_request", "model"),
        (
            {"input": "好", "instructions": "i" * 4097},
            "invalid_request",
            "instructions",
        ),
    ],
)
def test_a_bad_value_names_its_code_and_field(
    values: object, code: str, param: str | None
) -> None:
    got_code, got_param = _refusal(values)
    assert got_code == code
    if isinstance(values, dict) and "response_format" in values:
        param = "response_format"
    assert got_param == param


def test_half_an_emoji_becomes_a_character_that_nobody_reads() -> None:
    assert mended("价\ud83d格") == "价\ufffd格"
    assert mended("价\ud83d\ude00格") == "价\U0001f600格"
    assert mended("\ude00\ud83d") == "\ufffd\ufffd"


def test_a_message_is_short_and_can_be_sent() -> None:
    for values in (
        {"input": "好", "voice": "\ud800" * 100_000},
        {"input": "好", "response_format": "x" * 100_000},
        {"input": "好", "on_unreadable": "好" * 100_000},
    ):
        with pytest.raises(YaoheError) as refusal:
            parse_speech(values)
        body = json.dumps(refusal.value.as_body(), ensure_ascii=False)
        assert len(body.encode()) < 1000


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["好", "man", "alloy", "gd", *FORMATS, "1.5", "true", "sse"])
    | st.characters(categories=["Cs"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
FIELDS = st.sampled_from([*SpeechRequest.model_fields, "speaker", "id", "other"])


def _attempt(values: object) -> SpeechRequest | YaoheError:
    try:
        return parse_speech(values)
    except YaoheError as error:
        return error


@given(st.dictionaries(FIELDS, VALUES) | VALUES)
def test_whatever_comes_gives_a_request_or_an_error_of_ours(values: Any) -> None:
    result = _attempt(values)
    if isinstance(result, YaoheError):
        assert 400 <= result.status < 500
        json.dumps(result.as_body(), ensure_ascii=False).encode()
    else:
        result.model_dump_json().encode()
        assert result.input.strip()


def test_a_hint_and_markup_are_taken_and_a_misspelt_hint_is_refused() -> None:
    request = parse_speech({"input": "10.9", "context": "price", "ssml": "true"})
    assert (request.context, request.ssml) == ("price", True)
    plain = parse_speech({"input": "10.9"})
    assert (plain.context, plain.ssml) == (None, False)
    for context in ("prise", "x" * 65, 7):
        refused = _refusal({"input": "10.9", "context": context})
        assert refused == ("invalid_request", "context")
    assert _refusal({"input": "a", "ssml": "maybe"}) == ("invalid_request", "ssml")
