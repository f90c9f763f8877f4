"""Manifests from strangers, and each rule by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol.manifest import (
    MAX_MANIFEST_BYTES,
    Manifest,
    pack_digest,
    parse_manifest,
)
from common.protocol.version import parse_version

EXAMPLE = (
    Path(__file__).parents[2] / "contract" / "golden" / "manifest.json"
).read_bytes()


def _example() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(EXAMPLE)
    return values


def _refused(data: bytes, why: str = "not a pack's manifest") -> None:
    with pytest.raises(YaoheError, match=why) as refusal:
        parse_manifest(data)
    assert refusal.value.code == "pack_invalid"


FILE = {"sha256": "0" * 64, "size": 1}

BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "another major format": lambda m: m.update(format="yaohe-pack/2"),
    "a foreign format": lambda m: m.update(format="piper/1"),
    "no name": lambda m: m.pop("name"),
    "a name with a slash": lambda m: m.update(name="a/b"),
    "a version with a newline": lambda m: m.update(version="1.0.0\n"),
    "a version of two numbers": lambda m: m.update(version="1.0"),
    "a date without zone": lambda m: m.update(created="2026-11-30T12:00:00"),
    "no voice": lambda m: m.update(voices={}),
    "a speaker out of range": lambda m: m["voices"]["woman"].update(speaker=16),
    "a speaker in a string": lambda m: m["voices"]["woman"].update(speaker="0"),
    "no dialect": lambda m: m.update(dialects=[]),
    "a dialect twice": lambda m: m.update(dialects=["zh", "zh"]),
    "another sample rate": lambda m: m.update(sample_rate=22050),
    "no weights": lambda m: m.update(weights={}),
    "weights for CUDA alone": lambda m: m["weights"].pop("cpu"),
    "a stage missing": lambda m: m["weights"]["cpu"].pop("decoder"),
    "weights that are not listed": lambda m: m["files"].pop("cpu/decoder.onnx"),
    "contours that are not listed": lambda m: m.update(contours="other.json"),
    "a golden phrase of nobody": lambda m: m["golden"][0].update(voice="man"),
    "a golden phrase in no dialect": lambda m: m["golden"][0].update(dialect="gd"),
    "a loudness above full scale": lambda m: m["golden"][0].update(loudness_db=0.1),
    "a digest in capitals": lambda m: m["files"].update(
        x={"sha256": "A" * 64, "size": 1}
    ),
    "a negative size": lambda m: m["files"].update(x={"sha256": "0" * 64, "size": -1}),
    "a pack that fills a disk": lambda m: m["files"].update(
        {f"{n}.bin": {"sha256": "0" * 64, "size": 2**29} for n in range(3)}
    ),
    "a path that climbs": lambda m: m["files"].update({"../x": FILE}),
    "a path that climbs inside": lambda m: m["files"].update({"a/../../x": FILE}),
    "an absolute path": lambda m: m["files"].update({"/etc/passwd": FILE}),
    "a path with a backslash": lambda m: m["files"].update({"a\\b": FILE}),
    "a path with a drive": lambda m: m["files"].update({"c:x": FILE}),
    "a hidden path": lambda m: m["files"].update({".ssh/x": FILE}),
    "a path with a newline": lambda m: m["files"].update({"x\n": FILE}),
    "a path with NUL": lambda m: m["files"].update({"x\0": FILE}),
    "an empty path": lambda m: m["files"].update({"": FILE}),
    "an empty part": lambda m: m["files"].update({"a//b": FILE}),
    "a folder as a file": lambda m: m["files"].update({"a/": FILE}),
    "files that differ in case": lambda m: m["files"].update({"a": FILE, "A": FILE}),
    "a file inside a file": lambda m: m["files"].update({"a": FILE, "a/b": FILE}),
    "a manifest of itself": lambda m: m["files"].update({"Manifest.json": FILE}),
    "too many files": lambda m: m["files"].update({f"f{n}": FILE for n in range(300)}),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_manifest_is_refused(
    change: Callable[[dict[str, Any]], object],
) -> None:
    values = _example()
    change(values)
    _refused(json.dumps(values).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' + b"[" * 100_000,
        EXAMPLE + b" " * MAX_MANIFEST_BYTES,
    ],
    ids=range(12),
)
def test_bytes_that_have_no_one_meaning_are_refused(data: bytes) -> None:
    _refused(data, r"JSON|canonical form")
    with pytest.raises(YaoheError, match=r"JSON|canonical form"):
        pack_digest(data)


def test_a_later_minor_format_is_read() -> None:
    values = _example() | {"format": "yaohe-pack/1.3"}
    assert parse_manifest(json.dumps(values).encode()).format == "yaohe-pack/1.3"


def test_the_first_voice_is_the_one_of_the_first_speaker() -> None:
    values = _example()
    for names in (("a", "z"), ("z", "a")):
        voices = {name: {"speaker": int(name == "a")} for name in names}
        data = json.dumps(values | {"voices": voices, "golden": []}).encode()
        assert list(parse_manifest(data).voices) == ["z", "a"]


def test_a_dialect_pack_may_stand_on_the_weights_of_another() -> None:
    values = _example() | {"weights": {}, "requires": {"acoustic": "a" * 64}}
    manifest = parse_manifest(json.dumps(values).encode())
    assert manifest.stages("cuda") is None
    assert manifest.requires is not None


def test_versions_are_ordered_as_semver_orders_them() -> None:
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"]
    ordered += ["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"]
    ordered += ["1.0.1", "1.2.0", "1.10.0", "2.0.0"]
    assert sorted(reversed(ordered), key=parse_version) == ordered


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+b", "1.0.0\n", "v1.0.0"],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(YaoheError, match="not a version"):
        parse_version(text)


@given(st.text(alphabet="0123456789.-abAB\n", max_size=20))
def test_a_manifest_and_the_parser_agree_on_versions(text: str) -> None:
    values = json.dumps(_example() | {"version": text}).encode()
    try:
        parse_version(text)
    except YaoheError:
        _refused(values, "version")
    else:
        assert parse_manifest(values).version == text


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _attempt(data: bytes) -> Manifest | YaoheError:
    try:
        return parse_manifest(data)
    except YaoheError as error:
        return error


def _read(data: bytes) -> None:
    result = _attempt(data)
    if isinstance(result, YaoheError):
        assert result.code == "pack_invalid"
        json.dumps(result.as_body(), ensure_ascii=False).encode()
    else:
        assert result.label


@given(st.binary(max_size=200))
def test_any_bytes_give_a_manifest_or_an_error_of_ours(data: bytes) -> None:
    _read(data)


@given(st.sampled_from(sorted(_example())), JSON_VALUES)
def test_any_value_of_a_field_gives_a_manifest_or_an_error_of_ours(
    field: str, value: object
) -> None:
    _read(json.dumps(_example() | {field: value}).encode())


@given(st.integers(0, len(EXAMPLE) - 1), st.binary(max_size=3))
def test_a_damaged_file_gives_a_manifest_or_an_error_of_ours(
    place: int, bits: bytes
) -> None:
    _read(EXAMPLE[:place] + bits + EXAMPLE[place + 1 :])
