"""`make demo ARGS=--once` from start to end, with the real commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from pathlib import Path


def test_demo_speaks_and_leaves_nothing_running(root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.demo", "--once"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tiers = re.findall(r"^(box|cloud) +(\S+) ", done.stdout, re.M)
    assert tiers == [*[("box", "edge")] * 3, ("box", "cache"), ("cloud", "cloud")]
    sounds = sorted((tmp_path / "demo-out").glob("*.wav"))
    assert len(sounds) == 5
    for sound in sounds:
        with wave.open(str(sound)) as file:
            assert file.getframerate() == 24_000
            assert file.getnframes() > 24_000
    addresses = re.findall(r"127\.0\.0\.1:(\d+)", done.stdout)
    listening = subprocess.run(
        ["cat", "/proc/net/tcp"], capture_output=True, text=True, check=True
    ).stdout
    for port in addresses:
        assert f"0100007F:{int(port):04X} 00000000:0000 0A" not in listening
