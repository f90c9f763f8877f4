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

pytestmark = pytest.mark.broker
KEYS = {
    *("name", "ok", "tier", "first_audio_ms", "phrase_key", "pack_sha256"),
    *("file", "sha256", "reason", "cases", "dialects"),
}
TIERS = {
    "local": "edge",
    "phrase": "cache",
    "cloud": "cloud",
    "pack": "edge",
    "tampered": "edge",
    "cut": "cloud+edge",
}


def demo(root: Path, folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "deploy.demo", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"},
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
    root: Path, tmp_path: Path
) -> None:
    with demo(root, tmp_path) as process:
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


@pytest.mark.slow
def test_tour_takes_its_six_steps_and_keeps_what_was_heard(
    root: Path, tmp_path: Path
) -> None:
    with demo(root, tmp_path, "--once") as process:
        said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    out = tmp_path / "demo-out"
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
    assert steps[0]["dialects"] == ["zh", "gd", "sc"]
    sounds = sorted(out.glob("*.wav"))
    assert len(sounds) == 11
    for path in sounds:
        with wave.open(str(path)) as file:
            assert file.getframerate() == 24_000
            assert file.getnframes() > 24_000
    assert_nothing_listens(said)
