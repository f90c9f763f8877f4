"""What pip cannot bring is looked for, and named exactly where it may not be installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A PATH without apt, on which Python has neither venv nor Opus."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("bash", "id"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    python = folder / "python3"
    python.write_text(
        "#!/bin/bash\n"
        'case "$2" in\n'
        "  *version_info\\ *) exit 0 ;;\n"
        "  *print*) echo python3.12-venv ;;\n"
        "  *) exit 1 ;;\n"
        "esac\n"
    )
    python.chmod(0o755)
    return folder


def look(root: Path, path: str, *needs: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path, "PYTHON": "python3"}
    return subprocess.run(
        [str(root / "deploy" / "system-packages"), *needs],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_complete_machine_is_left_alone(root: Path) -> None:
    done = look(root, os.environ["PATH"], "venv", "opus", "broker")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_missing_is_named_with_its_command(
    root: Path, bare_machine: Path
) -> None:
    done = look(root, str(bare_machine), "venv", "opus")
    assert done.returncode == 1
    assert "sudo apt-get install -y python3.12-venv libopus0" in done.stderr


def test_only_what_is_asked_for_is_missed(root: Path, bare_machine: Path) -> None:
    done = look(root, str(bare_machine), "opus")
    assert "libopus0" in done.stderr
    assert "-venv" not in done.stderr


def test_an_old_python_is_refused_in_words(root: Path, bare_machine: Path) -> None:
    (bare_machine / "python3").write_text("#!/bin/bash\nexit 1\n")
    done = look(root, str(bare_machine), "venv")
    assert done.returncode == 1
    assert "3.10" in done.stderr
