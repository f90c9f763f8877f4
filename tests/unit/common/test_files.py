"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common import files


@pytest.mark.parametrize("mode", [files.PRIVATE, files.SHARED])
def test_a_file_is_written_with_its_mode(mode: int, tmp_path: Path) -> None:
    place = tmp_path / "state.json"
    files.write_atomic(place, b"new", mode=mode)
    assert place.read_bytes() == b"new"
    assert place.stat().st_mode & 0o777 == mode
    assert os.listdir(tmp_path) == ["state.json"]


def test_parts_are_written_in_order(tmp_path: Path) -> None:
    files.write_atomic(tmp_path / "a", iter([b"1", b"", b"23"]))
    assert (tmp_path / "a").read_bytes() == b"123"


def test_a_source_that_fails_leaves_the_old_content_alone(tmp_path: Path) -> None:
    place = tmp_path / "a"
    files.write_atomic(place, b"old")

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        files.write_atomic(place, broken())
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_content_alone(tmp_path: Path) -> None:
    place = tmp_path / "a"
    files.write_atomic(place, b"old")
    writer = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from common.files import write_atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_atomic(Path(sys.argv[1]), bytes(5000))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", writer, str(place)], capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"OSError" in done.stderr
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_kill_in_mid_write_leaves_the_old_content(tmp_path: Path) -> None:
    place = tmp_path / "a"
    files.write_atomic(place, b"old")
    writer = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from common.files import write_atomic\n"
        "def parts():\n"
        "    yield b'half'\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomic(Path(sys.argv[1]), parts())\n"
    )
    done = subprocess.run([sys.executable, "-c", writer, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert place.read_bytes() == b"old"
    # A rename is only whole within one file system, so the draft lies beside its place.
    (left,) = (name for name in os.listdir(tmp_path) if name != "a")
    assert left.endswith(files.TEMPORARY_SUFFIX)


def test_folders_are_made_with_their_parents(tmp_path: Path) -> None:
    files.make_directory(tmp_path / "a" / "b" / "c")
    files.make_directory(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


@pytest.mark.parametrize(
    ("user", "folder"),
    [(0, "/var/lib/yaohe-edge"), (1000, "~/.local/state/yaohe/edge")],
)
def test_a_box_keeps_its_state_where_its_user_may_write(
    user: int, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert files.edge_data() == Path(folder).expanduser()
    assert files.cloud_data() == Path(folder.replace("edge", "cloud")).expanduser()
    assert files.distill_data() == Path.home() / ".cache/yaohe/distill"
