"""A pack's manifest keeps its meaning and its digest."""

from __future__ import annotations

import json
from pathlib import Path

from common.protocol.canonical import canonical_bytes
from common.protocol.manifest import manifest_bytes, pack_digest, parse_manifest

FOLDER = Path(__file__).parent / "golden"
DATA = (FOLDER / "manifest.json").read_bytes()
DIGEST = "46fafe4c552cee5b71262afe649ecf5de66e145aa5c56eea536a429a865e8d22"


def test_the_digest_of_a_manifest_stands() -> None:
    assert pack_digest(DATA) == DIGEST


def test_the_canonical_bytes_of_a_manifest_stand() -> None:
    canonical = canonical_bytes(json.loads(DATA), code="pack_invalid")
    assert canonical + b"\n" == (FOLDER / "manifest.canonical.json").read_bytes()


def test_layout_and_order_do_not_change_the_digest() -> None:
    turned = dict(reversed(json.loads(DATA).items()))
    assert pack_digest(json.dumps(turned, indent=7).encode()) == DIGEST


def test_every_value_changes_the_digest_even_one_nobody_knows() -> None:
    assert pack_digest(DATA.replace(b'"kept"', b'"lost"')) != DIGEST
    assert pack_digest(DATA.replace(b"-23.5", b"-23.6")) != DIGEST


def test_a_manifest_is_understood() -> None:
    manifest = parse_manifest(DATA)
    assert manifest.label == "starter-woman@1.2.0-rc.1"
    assert manifest.voices["woman"].speaker == 0
    assert manifest.stages("cpu") == manifest.weights["cpu"]
    assert manifest.stages("cuda") == manifest.weights["cuda"]
    assert manifest.stages("coreml") == manifest.weights["cpu"]
    assert manifest.files["contours.json"].size == 900
    assert manifest.golden[0].loudness_db == -23.5


def test_what_a_packer_writes_is_read_back_the_same() -> None:
    manifest = parse_manifest(DATA)
    assert parse_manifest(manifest_bytes(manifest)) == manifest
