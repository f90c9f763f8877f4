"""Kokoro's files: where they lie, what they must be, who speaks with them.

Kokoro-82M v1.0 (Apache-2.0) in 8-bit ONNX: one graph and one table of style vectors per
voice. Every file is checked against its digest before it is used.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from common.errors import YaoheError

MODEL_FILE = "kokoro.onnx"
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
PACK = "kokoro-82m@1.0"

STYLES = {
    "zf_xiaoxiao": "03adb5d5e3ddd88b047954e974e651cb0a4b524c985057e5d872e962c7be1169",
    "zf_xiaobei": "5dde6e1c9c4f12c8b327bc29c0cee361a23b52b952c04636858ba637ec66e640",
    "zf_xiaoni": "08892b62a39af0a615cd0581238db7e19e44c578e8fa0bfd0e586e93327d9cba",
    "zf_xiaoyi": "bc1555c5c486099196ac254bae5e0bb543c121952a3092f50b7d8724f1bc36b3",
    "zm_yunjian": "de48a00bdbf3649f07162269a2b6e0513604389bfac8a2e6c75cb34b323ad6fa",
    "zm_yunxi": "7243892fb4e560d47014090ddf010f8b8b790f3c6b029ff82b2ac06aa4e27c8b",
    "zm_yunxia": "6b2b8fc15b3df19a368daebe5c581c7fabf433ee5b8a17ffd6b3d723cff8936d",
    "zm_yunyang": "261e2c89470534dbbcb8fd98b8fdc495ec94063d9bb6c8277f7be43cccba3f42",
}
"""SHA-256 of each Mandarin voice's style table."""

VOICES = {
    "woman": "zf_xiaoxiao",
    "man": "zm_yunjian",
    **{name: name for name in STYLES},
}
"""Names that can be asked for and the style table that each speaks with."""

STYLE_ROWS, STYLE_WIDTH = 510, 256
"""Shape of a style table; the row is chosen by the number of tokens."""

_BLOCK_BYTES = 1 << 20


def style_path(directory: Path, name: str) -> Path:
    """Where a style table lies.

    Args:
        directory: Kokoro's folder.
        name: A key of :data:`STYLES`.

    Returns:
        The file's path.
    """
    return directory / "voices" / f"{name}.bin"


def wanted(directory: Path) -> dict[Path, str]:
    """Every file that Kokoro needs.

    Args:
        directory: Kokoro's folder.

    Returns:
        Digests by path.
    """
    styles = {style_path(directory, name): sha for name, sha in STYLES.items()}
    return {directory / MODEL_FILE: MODEL_SHA256, **styles}


def digest(path: Path) -> str:
    """SHA-256 of a file.

    Args:
        path: An existing file.

    Returns:
        64 hexadecimal digits.
    """
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            sha.update(block)
    return sha.hexdigest()


def check(directory: Path) -> None:
    """Make sure that every file is there and is what it should be.

    Args:
        directory: Kokoro's folder.

    Raises:
        YaoheError: ``pack_invalid`` naming the first file that is missing or differs.
    """
    for path, sha in wanted(directory).items():
        if not path.is_file():
            raise YaoheError(
                "pack_invalid",
                f"{path} is missing; run: yaohe-cloud engine fetch kokoro "
                f"--to {directory}",
            )
        if digest(path) != sha:
            raise YaoheError(
                "pack_invalid", f"{path} is not the file that Kokoro needs (SHA-256)."
            )
