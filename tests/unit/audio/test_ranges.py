from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.ranges import entity_tag, is_known, parse_range


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-99", (0, 100)),
        ("bytes=0-0", (0, 1)),
        ("bytes=900-", (900, 1000)),
        ("bytes=900-5000", (900, 1000)),
        ("bytes=-10", (990, 1000)),
        ("bytes=-5000", (0, 1000)),
        ("BYTES= 5-6 ", (5, 7)),
    ],
)
def test_one_range_is_served(header: str, part: tuple[int, int]) -> None:
    assert parse_range(header, 1000) == part


@pytest.mark.parametrize("header", ["bytes=1000-", "bytes=5000-6000", "bytes=-0"])
def test_a_range_outside_the_bytes_is_empty(header: str) -> None:
    part = parse_range(header, 1000)
    assert part is not None
    assert part.is_empty


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "bytes", "bytes=", "bytes=-", "bytes=5-1", "bytes=a-b"),
        *("bytes=0-1,5-6", "items=0-1", "bytes=1.5-2", "bytes=-1-2"),
        *("bytes=" + "9" * 5000 + "-", "bytes=٣-٤"),
    ],
)
def test_what_is_no_single_range_means_the_whole(header: str | None) -> None:
    assert parse_range(header, 1000) is None


def test_the_tag_names_the_bytes() -> None:
    tag = entity_tag(b"a")
    assert tag == entity_tag(b"a") != entity_tag(b"b")
    assert tag.startswith('"')
    assert tag.endswith('"')


@pytest.mark.parametrize(
    "form", ["{}", "W/{}", '"x", {}', '"x",W/{} , "y"', "*", " * "]
)
def test_a_tag_the_client_has_is_known(form: str) -> None:
    tag = entity_tag(b"a")
    assert is_known(form.format(tag), tag)


@pytest.mark.parametrize("header", [None, "", '"x"', "W/", '"' * 2000])
def test_other_tags_are_not_known(header: str | None) -> None:
    assert not is_known(header, entity_tag(b"a"))


@given(st.text(), st.integers(0, 10**6))
def test_any_header_gives_a_part_within_the_bytes(header: str, size: int) -> None:
    for attempt in (header, f"bytes={header}"):
        part = parse_range(attempt, size)
        if part is not None and not part.is_empty:
            assert 0 <= part.start < part.end <= size
        is_known(attempt, entity_tag(b""))
