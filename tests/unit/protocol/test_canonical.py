"""JSON that is signed has one meaning and one spelling."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol.canonical import canonical_bytes, strict_object

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON_VALUES, max_size=4)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": 1, "a": 1}', "twice"),
        (b'{"b": {"a": 1, "a": 2}}', "twice"),
        (b'{"a": NaN}', "no number"),
        (b'{"a": -Infinity}', "no number"),
        (b"[1]", "not a JSON object"),
        (b'\xef\xbb\xbf{"a": 1}', "no JSON"),
        (b'{"a": "\xff"}', "no JSON"),
        (b'{"a": 1}' + b" " * 100, "at most 64"),
    ],
)
def test_what_readers_disagree_on_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(YaoheError, match=why) as refusal:
        strict_object(data, limit=64, code="pack_invalid")
    assert refusal.value.code == "pack_invalid"


@pytest.mark.parametrize("value", [float("nan"), "\ud800", b"bytes", {1, 2}])
def test_what_json_cannot_say_has_no_spelling(value: object) -> None:
    with pytest.raises(YaoheError, match="no canonical form") as refusal:
        canonical_bytes({"a": value}, code="invalid_request")
    assert refusal.value.code == "invalid_request"


@given(OBJECTS)
def test_the_spelling_says_what_was_meant(values: dict[str, object]) -> None:
    data = canonical_bytes(values, code="pack_invalid")
    assert strict_object(data, limit=10**6, code="pack_invalid") == values
    turned = dict(reversed(values.items()))
    assert canonical_bytes(turned, code="pack_invalid") == data


def test_the_spelling_is_short_and_sorted() -> None:
    values = json.loads('{"b": [1.5, null, true], "a": "店\\n", "B": {}}')
    assert canonical_bytes(values, code="pack_invalid") == (
        '{"B":{},"a":"店\\n","b":[1.5,null,true]}'.encode()
    )
