"""The READMEs' first commands, run as they stand there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

LINE = re.compile(r"^\.venv/bin/(yaohe-\w+ (?:say|read) .*)$", re.M)


@pytest.mark.parametrize("paper", ["README.md", "README.zh-CN.md"])
def test_first_commands_make_sound_and_a_reading(
    paper: str, root: Path, tmp_path: Path
) -> None:
    lines = LINE.findall((root / paper).read_text("utf-8"))
    assert len(lines) == 2
    printed = ""
    for line in lines:
        name, *arguments = shlex.split(line)
        script = Path(sys.executable).with_name(name)
        done = subprocess.run(
            [str(script), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    sound = (tmp_path / "hello.wav").read_bytes()
    assert sound[:4] == b"RIFF"
    assert len(sound) > 24000 * 2
    assert "九点九" in printed or "九块九" in printed
