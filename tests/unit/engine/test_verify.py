"""`engine verify` says whether our engine is the package's equal, and when it is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.cli import app  # noqa: E402
from cloud.engine.chattts import assets, verify  # noqa: E402
from cloud.engine.chattts.verify import Finding, report  # noqa: E402
from common.errors import YaoheError  # noqa: E402
from tests.tools.chattts_cases import PYTHON  # noqa: E402
from tests.tools.make_random_assets import build  # noqa: E402

pytestmark = pytest.mark.slow

COMPARED = 5
"""Findings with a bar: tokens, hidden states, logits, codes, samples."""


def command(folder: Path, python: Path = PYTHON) -> list[str]:
    return [
        "engine", "verify", str(folder), "--python", str(python),
        "--steps", "12", "--threads", "1",
    ]  # fmt: skip


def test_equal_sides_are_reported_with_their_speed(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, command(build(tmp_path, "tiny")))
    assert done.exit_code == 0, done.output
    assert done.output.count(" ok\n") == COMPARED
    assert "WRONG" not in done.output
    assert "CC BY-NC 4.0" in done.output
    for name in ("fp32", "int8"):
        for rows in verify.BATCHES:
            assert f"{name}, {rows} at the same time" in done.output


def test_other_weights_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(tmp_path / "a", "tiny")
    other = assets.load(build(tmp_path / "b", "tiny", seed=1))
    monkeypatch.setattr(verify, "load", lambda _: other)
    done = CliRunner().invoke(app, command(folder))
    assert done.exit_code == 1
    # The tokenizers are the same; nothing that is computed is.
    assert done.output.count("WRONG") == COMPARED - 1


def test_one_bar_that_is_not_met_makes_the_report_fail() -> None:
    lines: list[str] = []
    good, bad = Finding("a", "1", "all", True), Finding("b", "2", "all", False)
    bare = Finding("c", "3")
    assert report(iter([good, bare]), lines.append)
    assert not report(iter([good, bad, bare]), lines.append)
    assert lines[0].split() == ["a", "1", "(all)", "ok"]
    assert lines[-2].split() == ["b", "2", "(all)", "WRONG"]
    assert lines[-1].split() == ["c", "3"]


def test_a_folder_that_is_none_is_one_clear_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, command(tmp_path))
    assert isinstance(done.exception, YaoheError)
    assert done.exception.code == "pack_invalid"


def test_an_environment_without_the_package_is_one_clear_error(tmp_path: Path) -> None:
    folder = build(tmp_path, "tiny")
    for python in (tmp_path / "nowhere", Path(sys.executable)):
        done = CliRunner().invoke(app, command(folder, python))
        assert isinstance(done.exception, YaoheError), done.output
