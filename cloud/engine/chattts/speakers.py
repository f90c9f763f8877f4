"""Speakers: the vectors that decide who speaks.

A vector has a text form that people pass on: half floats, packed by LZMA2, in
base16384. A folder of such texts is a set of voices:

    anna.txt       the voice ``anna``, in Mandarin
    anna.gd.txt    who speaks for ``anna`` in the dialect ``gd``
    bo.txt         may also say ``seed 42``: a speaker drawn at random, always the same

So one logical voice may be several speakers, one for each dialect.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cloud.engine.chattts import base16384
from common.errors import YaoheError

Vector = NDArray[np.float32]
"""One speaker, [hidden]; only its direction counts."""

FOLDER = "speakers"
"""Where the voices are, beside the folder ``asset``."""
DEFAULT_DIALECT = "zh"
"""What a voice speaks whose file names no dialect."""
MAX_CHARACTERS = 8192
"""Characters of a text form at most; the published size needs about 900."""
MAX_FILE_BYTES = 4 * MAX_CHARACTERS

_HALF = np.dtype("<f2")
# The package's preset, whose 64 MiB dictionary a few kilobytes do not need.
_PACKING = {
    "id": lzma.FILTER_LZMA2,
    "preset": 9 | lzma.PRESET_EXTREME,
    "dict_size": 1 << 16,
}
_FILE = re.compile(r"(?P<voice>[A-Za-z0-9_-]{1,64})(?:\.(?P<dialect>[a-z]{2,16}))?")
_SEED = re.compile(r"seed ([0-9]{1,18})")


def write(vector: Vector) -> str:
    """Give a speaker's text form.

    Args:
        vector: The speaker; it is rounded to half floats.

    Returns:
        Chinese characters without meaning.
    """
    raw = np.asarray(vector).astype(_HALF).tobytes()
    return base16384.encode(lzma.compress(raw, lzma.FORMAT_RAW, filters=[_PACKING]))


def read(text: str, hidden: int) -> Vector:
    """Read a speaker's text form.

    Args:
        text: What :func:`write` or the ChatTTS package wrote; anything is accepted.
        hidden: Width of the model.

    Returns:
        The speaker.

    Raises:
        YaoheError: ``invalid_request``: it is no text form, or of another width.
    """
    if len(text) > MAX_CHARACTERS:
        raise _invalid(f"has more than {MAX_CHARACTERS} characters")
    packed = base16384.decode(text.strip())
    size = hidden * _HALF.itemsize
    unpack = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[_PACKING])
    try:
        # One byte more than it should have, and no bomb goes off.
        raw = unpack.decompress(packed, size + 1)
    except (lzma.LZMAError, EOFError):
        raise _invalid("is broken") from None
    if len(raw) != size or not unpack.eof or unpack.unused_data:
        raise _invalid(f"does not hold {hidden} half floats")
    vector = np.frombuffer(raw, _HALF).astype(np.float32)
    if not np.isfinite(vector).all() or not vector.any():
        raise _invalid("holds no direction")
    return vector


def drawn(seed: int, mean: Vector, spread: Vector) -> Vector:
    """Draw a speaker at random.

    Args:
        seed: The same seed gives the same speaker, on every machine.
        mean: Mean of the model's speakers, [hidden].
        spread: Their standard deviation, [hidden].

    Returns:
        The speaker, as exact as its text form.
    """
    normal = np.random.Generator(np.random.PCG64(seed)).standard_normal(len(mean))
    return (normal * spread + mean).astype(_HALF).astype(np.float32)


@dataclass(frozen=True)
class Speakers:
    """The voices of an engine.

    Attributes:
        vectors: Speakers by voice and dialect; None leaves the choice to the model.
    """

    vectors: Mapping[tuple[str, str], Vector | None]

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """Voices and the dialects that each speaks, in their order."""
        spoken: dict[str, tuple[str, ...]] = {}
        for voice, dialect in self.vectors:
            spoken[voice] = (*spoken.get(voice, ()), dialect)
        return spoken


def load(
    folder: Path, hidden: int, stat: tuple[Vector, Vector] | None = None
) -> Speakers:
    """Read a folder of voices.

    Args:
        folder: Holds ``VOICE.txt`` and ``VOICE.DIALECT.txt``.
        hidden: Width of the model.
        stat: Mean and spread of the model's speakers, for voices with a seed.

    Returns:
        Its voices by name, Mandarin first in each.

    Raises:
        YaoheError: ``pack_invalid`` naming the file and what is wrong with it.
    """
    found: dict[tuple[str, str], Vector | None] = {}
    for path in sorted(folder.glob("*.txt")):
        name = _FILE.fullmatch(path.stem)
        if name is None:
            raise _wrong(path, "is named neither VOICE.txt nor VOICE.DIALECT.txt")
        key = name["voice"], name["dialect"] or DEFAULT_DIALECT
        if key in found:
            raise _wrong(path, f"is a second file for {key[0]} in {key[1]}")
        found[key] = _vector(path, hidden, stat)
    if not found:
        raise _wrong(folder, "holds no voice")
    order = sorted(found, key=lambda key: (key[0], key[1] != DEFAULT_DIALECT, key[1]))
    return Speakers({key: found[key] for key in order})


def _vector(path: Path, hidden: int, stat: tuple[Vector, Vector] | None) -> Vector:
    """One file's speaker."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES).decode("utf-8").strip()
        seed = _SEED.fullmatch(text)
        if seed is None:
            return read(text, hidden)
    except UnicodeDecodeError:
        raise _wrong(path, "is no UTF-8 text") from None
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from None
    except YaoheError as error:
        raise _wrong(path, f"holds no speaker: {error.message}") from None
    if stat is None:
        raise _wrong(path, "asks for a random speaker, and the assets say of none")
    return drawn(int(seed[1]), *stat)


def _invalid(what: str) -> YaoheError:
    """The error for a text form."""
    return YaoheError("invalid_request", f"the speaker's text {what}", param="voice")


def _wrong(path: Path, what: str) -> YaoheError:
    """The error for a file."""
    return YaoheError("pack_invalid", f"{path} {what}")
