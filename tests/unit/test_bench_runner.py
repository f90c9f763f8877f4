"""The benchmark runner: finds, measures, prints and keeps."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def runner(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The runner over an empty folder of benchmarks."""
    path = root / "tests" / "bench" / "run.py"
    spec = importlib.util.spec_from_file_location("bench_runner", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "OUT", tmp_path / "bench-out")
    return module


def test_a_result_is_printed_and_kept(
    runner: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench_toy.py").write_text(
        '"""Counts."""\n'
        "def run():\n"
        "    return {'rows': [{'what': 'a', 'ms': 1.23456}], 'ratio': 2.0}\n"
    )
    assert runner.main(["toy"]) == 0
    printed = capsys.readouterr().out
    assert "what  ms\na     1.235" in printed
    assert "ratio: 2" in printed
    kept = json.loads((tmp_path / "bench-out" / "toy.json").read_text())
    assert kept["rows"] == [{"what": "a", "ms": 1.23456}]
    assert kept["machine"]["cores"] >= 1


def test_a_benchmark_without_its_needs_is_left_out(
    runner: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench_far.py").write_text(
        '"""Far."""\nNEEDS = ("no_such_module",)\ndef run():\n    raise SystemExit(1)\n'
    )
    assert runner.main([]) == 0
    assert "left out: needs no_such_module" in capsys.readouterr().out
    assert not (tmp_path / "bench-out").exists()


def test_an_unknown_name_is_refused(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(["nothing"]) == 2
    assert "no such benchmark: nothing" in capsys.readouterr().out
