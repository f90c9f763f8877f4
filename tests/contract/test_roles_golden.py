"""Who may sign what does not change under boxes that are sold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.trust import roles

GOLDEN = json.loads(
    (Path(__file__).parent / "golden" / "roles.json").read_text("utf-8")
)


def test_the_layout_of_roles_stands() -> None:
    assert json.loads(json.dumps(roles.as_dict())) == GOLDEN


@pytest.mark.parametrize(
    ("path", "signer"),
    [
        ("packs/starter-woman/1.2.0/manifest.json", "targets"),
        ("models/kokoro/1.0.0/model.onnx", "targets"),
        ("phrases/all/snapshot", "phrases"),
        ("phrases/g.north/snapshot", "phrases"),
    ],
)
def test_each_path_has_one_signer(path: str, signer: str) -> None:
    assert roles.signer_of_path(path).name == signer


@pytest.mark.parametrize(
    "path",
    [
        "",
        "packs/a/manifest.json",
        "packs/a/b/c/manifest.json",
        "packs/a/../manifest.json",
        "packs/a/1/manifest.json\n",
        "packs//1/manifest.json",
        "phrases/g/north/snapshot",
        "phrases/all/snapshotx",
    ],
)
def test_a_path_that_no_role_signs_is_refused(path: str) -> None:
    with pytest.raises(YaoheError, match="no role signs"):
        roles.signer_of_path(path)


def test_what_speaks_is_signed_by_a_key_that_no_server_holds() -> None:
    assert not roles.signer_of_path(roles.PACKS.replace("*", "x")).online
    assert not roles.signer_of_envelope(roles.PACK_TYPE).online
    assert roles.signer_of_envelope(roles.HEAD_TYPE).name == "phrases"
    assert roles.signer_of_envelope(roles.JOB_TYPE).name == "phrases"


def test_an_unknown_envelope_has_no_signer() -> None:
    with pytest.raises(YaoheError, match="no role signs"):
        roles.signer_of_envelope("text/plain")


def test_losing_one_root_key_loses_nothing() -> None:
    root = roles.role("root")
    assert root.keys - 1 >= root.threshold >= 2
