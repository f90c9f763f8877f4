"""Packs on disk: nothing speaks that is not what was packed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.voice.golden import check_golden
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(starter_directory(), tmp_path / "pack"))


def _edit(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    path = folder / "manifest.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    change(values)
    path.write_text(json.dumps(values), encoding="utf-8")


def _refusal(folder: Path, *, trusted: bool = True) -> str:
    with pytest.raises(YaoheError) as refused:
        load_pack(folder, trusted=trusted)
    assert refused.value.code == "pack_invalid"
    return str(refused.value)


def test_the_starter_pack_is_whole_and_speaks_its_golden_phrases() -> None:
    pack = load_pack(starter_directory(), trusted=True)
    assert pack.manifest.golden
    check_golden(Speaker(pack))


def test_the_starter_pack_is_small_enough_for_a_shop_line() -> None:
    size = sum(path.stat().st_size for path in starter_directory().iterdir())
    assert size <= 12_000_000


def test_one_flipped_byte_is_refused(folder: Path) -> None:
    path = folder / "decoder.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "decoder.onnx: not the file that was packed" in _refusal(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "prosody.onnx").unlink()
    assert "prosody.onnx" in _refusal(folder)


def test_an_unsigned_pack_needs_somebody_to_vouch_for_it(folder: Path) -> None:
    assert "signature" in _refusal(folder, trusted=False)


def test_a_folder_without_a_pack_is_refused(tmp_path: Path) -> None:
    assert "manifest.json" in _refusal(tmp_path)


def test_a_pack_for_a_later_symbol_table_is_refused(folder: Path) -> None:
    _edit(folder, lambda v: v.update(symbols={"version": 99, "size": 128}))
    assert "symbol table 99" in _refusal(folder)


def test_a_graph_that_is_none_is_refused_when_it_is_loaded(folder: Path) -> None:
    import hashlib

    junk = b"not a graph"
    (folder / "encoder.onnx").write_bytes(junk)
    digest = hashlib.sha256(junk).hexdigest()

    def claim(values: dict[str, object]) -> None:
        files = values["files"]
        assert isinstance(files, dict)
        files["encoder.onnx"] = {"sha256": digest, "size": len(junk)}

    _edit(folder, claim)
    with pytest.raises(YaoheError) as refused:
        Speaker(load_pack(folder, trusted=True))
    assert refused.value.code == "pack_invalid"


def test_a_golden_phrase_of_another_length_fails_the_pack(folder: Path) -> None:
    def lengthen(values: dict[str, object]) -> None:
        golden = values["golden"]
        assert isinstance(golden, list)
        golden[0]["duration_ms"] += 5000

    _edit(folder, lengthen)
    with pytest.raises(YaoheError, match="packed with"):
        check_golden(Speaker(load_pack(folder, trusted=True)))


def test_the_runtime_leaves_nothing_behind_and_tells_nobody(tmp_path: Path) -> None:
    script = (
        "from common.voice.pack import load_pack, starter_directory\n"
        "from common.voice.speak import Speaker\n"
        "Speaker(load_pack(starter_directory(), trusted=True))\n"
    )
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    outside = {key: value for key, value in os.environ.items() if "ORT_" not in key}
    subprocess.run([sys.executable, "-c", script], env=outside | home, check=True)
    assert list(tmp_path.rglob("*")) == []
