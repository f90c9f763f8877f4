"""Packs pypinyin's dictionary (MIT) into the two files that the reader loads.

    python -m tests.tools.pack_pinyin

Development only, after an update of pypinyin. Readings become pinyin with tone numbers
(ü as v, neutral 5), the first one of each; phrases whose data already holds third-tone
sandhi get their citation tones back. The reader then needs neither the library nor its
memory (about 50 MB).
"""

from __future__ import annotations

import importlib
import sys
import unicodedata
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from common.text.pieces import is_syllable

DATA = Path(__file__).parents[2] / "common" / "text" / "data"
_MARKS = {"\u0304": 1, "\u0301": 2, "\u030c": 3, "\u0300": 4}


def numbered(marked: str) -> str:
    """``háng`` as ``hang2``.

    Args:
        marked: Pinyin with tone marks.

    Returns:
        Pinyin with a tone number.
    """
    tone = 5
    letters: list[str] = []
    for character in unicodedata.normalize("NFD", marked):
        if character in _MARKS:
            tone = _MARKS[character]
        elif character == "\u0308":
            letters[-1] = "v"
        elif character == "\u0302":
            letters[-1] = "ê"
        else:
            letters.append("g" if character == "ɡ" else character)
    return "".join(letters) + str(tone)


def citation(word: str, readings: list[str], options: Mapping[int, str]) -> list[str]:
    """Give third tones back that the data already changed before another.

    Args:
        word: A phrase.
        readings: Its readings.
        options: All readings of each character, marked, parted by commas.

    Returns:
        Its citation readings.
    """
    restored = list(readings)
    for place in range(len(word) - 1):
        reading, following = restored[place], restored[place + 1]
        known = {numbered(one) for one in options.get(ord(word[place]), "").split(",")}
        third = f"{reading[:-1]}3"
        changed = reading[-1] == "2" and following[-1] in "23"
        if changed and reading not in known and third in known:
            restored[place] = third
    return restored


def main() -> int:
    """Write ``phrases.txt`` and ``characters.txt``.

    Returns:
        Exit status, 0.
    """
    constants = importlib.import_module("pypinyin.constants")
    single: Mapping[int, str] = constants.PINYIN_DICT
    lines: list[str] = []
    for word, found in sorted(constants.PHRASES_DICT.items()):
        if len(found) != len(word) or " " in word:
            continue
        readings = [numbered(options[0]) for options in found]
        lines.append(f"{word} {' '.join(citation(word, readings, single))}")
    (DATA / "phrases.txt").write_text("\n".join(lines) + "\n", "utf-8")
    first = sorted(
        (numbered(options.split(",")[0]), chr(code)) for code, options in single.items()
    )
    first = [pair for pair in first if is_syllable(pair[0], "zh")]
    with (DATA / "characters.txt").open("w", encoding="utf-8") as file:
        for reading, group in groupby(first, key=lambda pair: pair[0]):
            file.write(f"{reading} {''.join(character for _, character in group)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
