"""`make demo` from start to end, with the real commands."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from tests.e2e.boxes import ROOT

pytestmark = pytest.mark.broker
KEYS = {
    *("name", "ok", "tier", "first_audio_ms", "phrase_key", "pack_sha256"),
    *("file", "sha256", "reason", "cases"),
}
TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
CLOUD_TEXT = "请A023号顾客到3号窗口取餐。"
TIERS = {
    "local": "edge",
    "phrase": "cache",
    "cloud": "cloud",
    "pack": "edge",
    "tampered": "edge",
    "cut": "cloud+edge",
}


def demo(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "deploy.demo", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def assert_nothing_listens(said: str) -> None:
    ports = {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", said)}
    ports |= {int(port) for port in re.findall(r"broker on port (\d+)", said)}
    assert len(ports) == 3
    for port in ports:
        listening = f"0100007F:{port:04X} 00000000:0000 0A"
        assert listening not in Path("/proc/net/tcp").read_text()


def test_demo_runs_until_it_is_told_to_end_and_leaves_nothing_running(
    tmp_path: Path,
) -> None:
    with demo(tmp_path) as process:
        assert process.stdout is not None
        said = ""
        while "until Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    assert re.search(r"player page +http://127\.0\.0\.1:\d+/player", said)
    assert re.search(r"status page +http://127\.0\.0\.1:\d+/$", said, re.M)
    assert_nothing_listens(said)


@pytest.fixture(scope="module")
def toured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the tour left its sounds, and what it printed."""
    folder = tmp_path_factory.mktemp("tour")
    with demo(folder, "--once") as process:
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return folder / "demo-out", said


@pytest.mark.slow
def test_tour_takes_its_six_steps_and_keeps_what_was_heard(
    toured: tuple[Path, str],
) -> None:
    out, said = toured
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert report.keys() == {"steps"}
    steps = report["steps"]
    assert {step["name"]: step["tier"] for step in steps} == TIERS
    for step in steps:
        assert step.keys() == KEYS
        assert step["ok"]
        assert step["cases"]
        assert all(case["ok"] for case in step["cases"])
        sound = (out / step["file"]).read_bytes()
        assert hashlib.sha256(sound).hexdigest() == step["sha256"]
    sounds = sorted(out.glob("*.wav"))
    assert len(sounds) == 9
    for path in sounds:
        with wave.open(str(path)) as file:
            assert file.getframerate() == 24_000
            assert file.getnframes() > 24_000
    assert_nothing_listens(said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "highest_error"),
    [
        ("1-local", TEXT, 0.08),
        ("2-phrase", TEXT, 0.08),
        ("3-cloud", CLOUD_TEXT, 0.2),
        ("4-pack", CLOUD_TEXT, 0.2),
    ],
)
def test_what_the_tour_says_is_read_back(
    toured: tuple[Path, str], name: str, text: str, highest_error: float
) -> None:
    words = ("distill", "judge", str(toured[0] / f"{name}.wav"), "--text", text)
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout)
    assert heard["syllable_error"] <= highest_error, heard
