"""Bytes as Chinese characters: both ways, and nothing else is taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.engine.chattts import base16384
from common.errors import YaoheError


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"\x00", "\u4e00\u3d01"),
        (b"\xff", "\u8dc0\u3d01"),
        (b"ab", "\u6658\u6e00\u3d02"),
        (b"\x00" * 7, "\u4e00" * 4),
        (b"\xff" * 7, "\u8dff" * 4),
        (b"1234567", "\u5a4c\u7133\u5ed4\u8437"),
    ],
)
def test_known_bytes_have_known_characters(raw: bytes, text: str) -> None:
    assert base16384.encode(raw) == text
    assert base16384.decode(text) == raw


@given(st.binary(max_size=64))
def test_what_was_written_is_read_back(raw: bytes) -> None:
    assert base16384.decode(base16384.encode(raw)) == raw


@given(st.text(st.characters(min_codepoint=0x3CFE, max_codepoint=0x4E08), max_size=12))
@pytest.mark.parametrize("seed", ["", "\u8dff"])
def test_any_text_is_either_the_one_form_of_its_bytes_or_refused(
    seed: str, text: str
) -> None:
    try:
        raw = base16384.decode(seed + text)
    except YaoheError:
        return
    assert base16384.encode(raw) == seed + text


@pytest.mark.parametrize(
    "text", ["hello", "\u4e00", "\u3d01", "\u4e00\u3d07", "\u4e01\u3d01", "\u8e00" * 4]
)
def test_what_is_no_text_form_is_refused(text: str) -> None:
    with pytest.raises(YaoheError, match="text form"):
        base16384.decode(text)
