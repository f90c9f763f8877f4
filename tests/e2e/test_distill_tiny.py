"""The whole way from a real teacher to a pack, killed and interrupted on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cloud.engine.kokoro import assets
from common.errors import YaoheError
from common.files import distill_data
from common.text import read
from common.voice.golden import check_golden
from common.voice.pack import load_pack
from common.voice.speak import Speaker

pytestmark = pytest.mark.slow
PATIENCE_S = 1200.0


@pytest.fixture(scope="module")
def kokoro(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """The teacher's files: those of this machine if they are right, else fetched."""
    ours = distill_data() / "teachers" / "kokoro"
    try:
        assets.check(ours)
    except (YaoheError, OSError):
        folder = tmp_path_factory.mktemp("kokoro")
        command = [sys.executable, "-m", "cloud", "engine", "fetch", "kokoro"]
        subprocess.run([*command, "--to", str(folder)], check=True)
        return folder
    return ours


class Distillery:
    """Runs ``yaohe-distill`` on a data folder of its own."""

    def __init__(self, data: Path, kokoro: Path, root: Path) -> None:
        self.data = data
        self._root = root
        self._env = {
            **os.environ,
            "YAOHE_DISTILL_DATA": str(data),
            "YAOHE_DISTILL_KOKORO": str(kokoro),
            "OMP_NUM_THREADS": "1",
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "distill", *words],
            cwd=self._root,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> str:
        process = self.start(*words)
        _, told = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, told
        return " ".join(told.split())

    def rows(self) -> int:
        index = self.data / "tiny" / "index.jsonl"
        return index.read_text("utf-8").count("\n") if index.exists() else 0


def until(process: subprocess.Popen[str], is_so: Callable[[], bool]) -> None:
    """Wait for something that a running process brings about."""
    ends = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.fixture(scope="module")
def distillery(
    tmp_path_factory: pytest.TempPathFactory,
    kokoro: Path,
    request: pytest.FixtureRequest,
) -> Distillery:
    root = Path(__file__).resolve().parents[2]
    return Distillery(tmp_path_factory.mktemp("distill"), kokoro, root)


def test_a_corpus_that_was_killed_goes_on_with_what_it_has(
    distillery: Distillery,
) -> None:
    process = distillery.start("corpus", "tiny")
    # Past the 24 sentences that are only told, among the 12 that are spoken.
    until(process, lambda: distillery.rows() >= 27)
    process.kill()
    process.communicate()
    had = distillery.rows()
    distillery.run("corpus", "tiny", "--workers", "2")
    manifest = json.loads((distillery.data / "tiny" / "corpus.json").read_text("utf-8"))
    assert had >= 27
    assert manifest["sentences"] + manifest["rejected"] == 12 + 24
    assert manifest["rejected"] == 0
    assert set(manifest["seconds"]) == {"zf_xiaoxiao", "zm_yunjian"}
    assert set(manifest["told_seconds"]) == {"zf_xiaoxiao", "zm_yunjian"}
    assert manifest["teacher"]["sha256"] == assets.MODEL_SHA256


def test_an_interrupted_training_keeps_its_step_and_goes_on(
    distillery: Distillery,
) -> None:
    pytest.importorskip("torch")
    log = distillery.data / "runs" / "tiny" / "acoustic.jsonl"
    process = distillery.start("train", "tiny", "--stage", "acoustic")
    until(process, log.exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert (log.parent / "acoustic.pt").exists()
    distillery.run("train", "tiny", "--stage", "acoustic")
    steps = [json.loads(line)["step"] for line in log.read_text("utf-8").splitlines()]
    assert steps == sorted(set(steps)), "no step was learnt twice"
    assert steps[-1] == 100


def test_the_run_ends_in_a_measured_pack_that_speaks(distillery: Distillery) -> None:
    pytest.importorskip("torch")
    distillery.run("run", "tiny")
    folder = distillery.data / "runs" / "tiny"
    export = json.loads((folder / "export.json").read_text("utf-8"))
    assert max(export["onnx_against_torch"].values()) <= 1e-4
    result = json.loads(
        (folder / "evaluation" / "signage-tiny-draft" / "evaluation.json").read_text(
            "utf-8"
        )
    )
    measured = {(line["system"], line["voice"]): line for line in result["systems"]}
    assert set(measured) == {
        (system, voice)
        for system in ("teacher", "student")
        for voice in ("woman", "man")
    }
    # The teacher is understood; a voice taught in minutes need not be.
    assert measured["teacher", "woman"]["syllable_error"] < 0.3
    assert (
        measured["student", "woman"]["rtf_cpu"]
        < measured["teacher", "woman"]["rtf_cpu"]
    )
    assert set(result["likeness"]) == {"woman", "man"}
    assert result["sameness"]["repeated"]["different_sounds"] == 1
    distillery.run("report", "tiny")
    assert "pitch RMSE" in (folder / "report" / "report.md").read_text("utf-8")
    assert (folder / "report" / "spectrogram-man.png").exists()
    pack = load_pack(folder / "packs" / "tiny", trusted=True)
    speaker = Speaker(pack)
    check_golden(speaker)
    symbols = read("欢迎光临。").symbols
    sounds = [
        np.concatenate(list(speaker.speak(symbols, voice=voice)))
        for voice in ("woman", "woman", "man")
    ]
    assert np.array_equal(sounds[0], sounds[1])
    assert not np.array_equal(sounds[0], sounds[2])


def test_a_second_run_finds_everything_done(distillery: Distillery) -> None:
    pytest.importorskip("torch")
    before = {
        p: p.stat().st_mtime_ns for p in distillery.data.rglob("*") if p.is_file()
    }
    told = distillery.run("run", "tiny")
    assert "is finished" in told
    assert told.count("(was there)") == 2
    changed = [p for p, when in before.items() if p.stat().st_mtime_ns != when]
    assert changed == []
