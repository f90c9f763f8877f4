"""Mandarin tone sandhi: 一, 不, third tones, by the structure of words.

Rules: citation readings are never changed here; surface readings are new. Third tones
change from the innermost word outwards, and not across a longer boundary than a word
group.
"""

from __future__ import annotations

from collections.abc import Sequence

NUMERALS = frozenset("零〇一二三四五六七八九十百千万亿两幺点")
_ORDINAL_BEFORE = frozenset("第初周十百千万亿零〇统唯专单")


def _tone(syllable: str) -> int:
    return int(syllable[-1])


def _with(syllable: str, tone: int) -> str:
    return syllable[:-1] + str(tone)


def change_yi_bu(
    characters: Sequence[str], syllables: list[str], starts: Sequence[bool]
) -> None:
    """Apply the rules of 一 and 不 in place.

    Args:
        characters: The character of each syllable.
        syllables: Readings, changed in place.
        starts: Whether a word begins at each syllable.
    """
    last = len(characters) - 1
    for index, character in enumerate(characters):
        if character == "不":
            following = _tone(syllables[index + 1]) if index < last else 0
            if following == 4:
                syllables[index] = "bu2"
        elif character == "一" and syllables[index] == "yi1":
            tone = _yi(characters, syllables, starts, index)
            syllables[index] = f"yi{tone}"


def _yi(
    characters: Sequence[str],
    syllables: Sequence[str],
    starts: Sequence[bool],
    index: int,
) -> int:
    if index == len(characters) - 1:
        return 1
    before = characters[index - 1] if index else ""
    after = characters[index + 1]
    if before in _ORDINAL_BEFORE and before:
        return 1
    if before == "点" or after in NUMERALS and after not in "百千万亿":
        return 1
    if after in "号楼月日是比至到、等级区期":
        return 1
    if before in NUMERALS and before not in "点":
        return 1
    if before and before == characters[index + 1] and before not in NUMERALS:
        return 5
    following = _tone(syllables[index + 1])
    if following == 4 or after == "个":
        return 2
    return 4


def change_third(
    syllables: list[str], groups: Sequence[Sequence[tuple[int, int]]]
) -> None:
    """Apply the third-tone rule in place.

    Args:
        syllables: Readings, changed in place.
        groups: Prosodic groups as lists of word ranges, left to right.
    """
    for group in groups:
        for start, end in group:
            _within(syllables, start, end)
        for (_, end), (_start, _end) in zip(group, list(group)[1:], strict=False):
            if (
                _tone(syllables[end - 1]) == 3
                and _tone(syllables[end]) in (3, 2)
                and _third(syllables, end)
            ):
                syllables[end - 1] = _with(syllables[end - 1], 2)


def _third(syllables: Sequence[str], index: int) -> bool:
    return _tone(syllables[index]) == 3


def _within(syllables: list[str], start: int, end: int) -> None:
    for index in range(start, end - 1):
        if _tone(syllables[index]) == 3 and _tone(syllables[index + 1]) == 3:
            syllables[index] = _with(syllables[index], 2)
