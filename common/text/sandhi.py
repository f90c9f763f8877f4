"""Mandarin tone sandhi: 一, 不 and third tones, by the structure of words.

Rules of this module: citation readings stay, surface readings are new; a numeral 一
keeps its tone, a counting 一 changes; third tones change inside words first, then
between words from left to right, and stop at a pause because phrases do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SIGHT = 8
"""How far 一 looks around itself, in characters."""
_DIGITS = "零〇一二三四五六七八九幺"
_KEEPS_BEFORE = re.compile(
    rf"(?:[第初周{_DIGITS}十百千万亿比]|[{_DIGITS}十百千万亿]点|星期|礼拜|[加减乘负]|等于|分之|[买满拍充送赠得]|[双高大五六]$(?<=双))$"
)
_KEEPS_AFTER = re.compile(
    rf"(?:[{_DIGITS}十]|点[{_DIGITS}](?!滴)|[号月比加减乘至到]|[赔罚]|[送赠免换得](?:[{_DIGITS}十百两]|$)|号|"
    r"[等级](?!别)|年级|季度|单元|栋|幢|楼|环路|班|区|期|代|线城|中(?:$|[、，])|院(?:$|[区的]))"
)


def _tone(syllable: str) -> int:
    return int(syllable[-1])


def _with(syllable: str, tone: int) -> str:
    return syllable[:-1] + str(tone)


def change_yi_bu(
    phrase: str,
    places: Sequence[int],
    syllables: list[str],
    starts: Sequence[bool],
) -> None:
    """Apply the rules of 一 and 不 in place.

    Args:
        phrase: The characters.
        places: Where each syllable begins in the phrase.
        syllables: Readings, changed in place.
        starts: Whether a word begins at each syllable.
    """
    last = len(syllables) - 1
    for index, place in enumerate(places):
        following = _tone(syllables[index + 1]) if index < last else 0
        if phrase[place] == "不" and syllables[index] == "bu4":
            if following == 4:
                syllables[index] = "bu2"
        elif phrase[place] == "一" and syllables[index] == "yi1":
            ends_word = not starts[index] and (index == last or starts[index + 1])
            tone = _yi(phrase, place, following, ends_word)
            syllables[index] = f"yi{tone}"


def _yi(phrase: str, place: int, following: int, ends_word: bool) -> int:
    before = phrase[max(0, place - _SIGHT) : place]
    after = phrase[place + 1 : place + 1 + _SIGHT]
    if not following or (ends_word and not after.startswith("个")):
        return 1
    doubled = before and before[-1] == after[0] and before[-1] not in _DIGITS
    if doubled and after[1:2] != "二" and before[-2:-1] != "一":
        return 5
    if after[0] == "日" and before[-1:] == "月":
        return 1
    if before.endswith("一点") and after[0] == "滴":
        return 4
    if _KEEPS_BEFORE.search(before) or _KEEPS_AFTER.match(after):
        return 1
    if following in (4, 5) or after[0] == "个":
        return 2
    return 4


def change_third(
    phrase: str,
    places: Sequence[int],
    syllables: list[str],
    words: Sequence[tuple[int, int]],
    is_word: Callable[[str], bool],
) -> None:
    """Apply the third-tone rule in place.

    Args:
        phrase: The characters.
        places: Where each syllable begins in the phrase.
        syllables: Readings, changed in place.
        words: Ranges of syllables, one per word, left to right.
        is_word: Whether some characters are a word of their own; decides how a word of
            three syllables is built.
    """
    for start, end in words:
        if end - start == 3:
            text = phrase[places[start] : places[end - 1] + 1]
            if is_word(text[1:]) and not is_word(text[:2]):
                _within(syllables, start + 1, end)
                if _tone(syllables[start]) == 3 == _tone(syllables[start + 1]):
                    syllables[start] = _with(syllables[start], 2)
                continue
        if end - start == 4:
            _within(syllables, start, start + 2)
            _within(syllables, start + 2, end)
            if _tone(syllables[start + 1]) == 3 == _tone(syllables[start + 2]):
                syllables[start + 1] = _with(syllables[start + 1], 2)
            continue
        _within(syllables, start, end)
    for _, end in words[:-1]:
        if _tone(syllables[end - 1]) == 3 == _tone(syllables[end]):
            syllables[end - 1] = _with(syllables[end - 1], 2)


def _within(syllables: list[str], start: int, end: int) -> None:
    for index in range(start, end - 1):
        if _tone(syllables[index]) == 3 == _tone(syllables[index + 1]):
            syllables[index] = _with(syllables[index], 2)
