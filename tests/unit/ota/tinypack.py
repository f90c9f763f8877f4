"""A real pack in a few kilobytes, and a padding file of three chunks beside it."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from common.protocol.repair import CHUNK_BYTES
from common.text.symbols import TABLE_SIZE, TABLE_VERSION
from common.voice.golden import measure
from common.voice.pack import load_pack, pack_of
from common.voice.source import HOP
from common.voice.speak import Speaker

GRAPHS = Path(__file__).parent / "graphs"
PHRASE = "欢迎光临"
PADDING_BYTES = 2 * CHUNK_BYTES + 1000
"""Three chunks, the last one short."""


def make_pack(
    folder: Path,
    version: str = "1.0.0",
    *,
    name: str = "hum",
    voices: tuple[str, ...] = ("man",),
    dialects: tuple[str, ...] = ("zh",),
    padding: int = PADDING_BYTES,
    texts: Mapping[str, str] | None = None,
    **changes: Any,
) -> Path:
    """Write an unsigned pack; another version has other padding."""
    folder.mkdir(parents=True)
    if changes.get("weights") != {}:
        for path in GRAPHS.glob("*.onnx"):
            shutil.copy(path, folder / path.name)
    for file, text in (texts or {}).items():
        (folder / file).write_text(text, "utf-8")
    noise = random.Random(f"{name} {version}").randbytes(padding)
    (folder / "padding.bin").write_bytes(noise)
    values: dict[str, Any] = {
        "format": "yaohe-pack/1",
        "name": name,
        "version": version,
        "created": "2026-01-01T00:00:00+00:00",
        "voices": {v: {"speaker": at} for at, v in enumerate(voices)},
        "dialects": list(dialects),
        "symbols": {"version": TABLE_VERSION, "size": TABLE_SIZE},
        "rules": 1,
        "sample_rate": 24_000,
        "hop": HOP,
        "weights": {
            "cpu": {
                stage: f"{stage}.onnx" for stage in ("encoder", "prosody", "decoder")
            }
        },
        "context": {"left": 0, "right": 0},
        "noise_seed": 1,
        "quality": 50,
        "golden": [],
        "teacher": {"name": "nobody", "licence": "none"},
        "licences": {"code": "Apache-2.0", "weights": "none", "data": "none"},
        "files": {
            path.name: {
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "size": path.stat().st_size,
            }
            for path in sorted(folder.iterdir())
        },
    }
    if "golden" not in changes:
        values["golden"] = _golden(voices[0], dialects[0])
    write_manifest(folder, values | changes)
    return folder


def make_dialect(
    folder: Path, version: str = "1.0.0", *, base: Path, **changes: Any
) -> Path:
    """Write an unsigned Chengdu pack that stands on another pack."""
    table = {
        "format": "yaohe-contours/1",
        "dialects": {"sc": {"tones": {"1": {"anywhere": [40, 45, 50]}}}},
    }
    options: dict[str, Any] = {
        "name": "hum-sc",
        "dialects": ("sc",),
        "golden": [],
        "padding": 0,
        "requires": {"acoustic": pack_of(base)},
        "contours": "contours.json",
        "weights": {},
    }
    text = json.dumps(table)
    return make_pack(
        folder, version, texts={"contours.json": text}, **(options | changes)
    )


def _golden(voice: str, dialect: str) -> list[dict[str, Any]]:
    duration_ms, loudness_db = _measured()
    return [
        {
            "text": PHRASE,
            "voice": voice,
            "dialect": dialect,
            "duration_ms": duration_ms,
            "tolerance_ms": 5,
            "loudness_db": loudness_db,
        }
    ]


def write_manifest(folder: Path, values: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(
        json.dumps(values, ensure_ascii=False, indent=1), "utf-8"
    )


def manifest_name(folder: Path) -> str:
    """What names a pack on a box."""
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def _measured() -> tuple[int, float]:
    """How the phrase sounds; the same for every pack of these graphs."""
    with tempfile.TemporaryDirectory() as place:
        folder = make_pack(Path(place) / "pack", padding=0, golden=[])
        heard = measure(Speaker(load_pack(folder, trusted=True)), PHRASE, "man", "zh")
    return heard.duration_ms, heard.loudness_db
