"""Chengdu readings, derived from the Mandarin citation reading of the same characters.

Former checked syllables are known by their Cantonese coda -p, -t, -k and all carry the
low tone (2). There is no 一, 不 or third-tone sandhi, and suffixes keep full tones.
Spelling: pinyin with ng-, ny- and the finals io, ue, iai; ü is written after ny only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from common.text import cantonese, forms, mandarin
from common.text.mandarin import Fixed, Syllable

_PARTICLES = {
    "的": "le5",
    "了": "no5",
    "着": "zo5",
    "吗": "ma5",
    "呢": "ne5",
    "吧": "ba5",
    "啊": "a5",
    "呀": "ya5",
    "啦": "na5",
    "嘛": "ma5",
    "么": "mo5",
    "哦": "o5",
}


@lru_cache(maxsize=1)
def _own() -> dict[str, str]:
    return dict(mandarin.rows("chengdu.tsv"))


@lru_cache(maxsize=8192)
def _coda(character: str) -> tuple[str, str]:
    """Cantonese reading without tone, and its stop coda or nothing."""
    reading = cantonese.reading_of(forms.convert(character, "s2hk"))[:-1]
    return reading, reading[-1:] if reading[-1:] in ("p", "t", "k") else ""


@lru_cache(maxsize=16384)
def syllable(character: str, pinyin: str) -> str:
    """The Chengdu reading of a character in a Mandarin reading.

    Args:
        character: A simplified character.
        pinyin: Its Mandarin citation reading, such as ``feng1``.

    Returns:
        Such as ``fong1``.
    """
    own = _own().get(character)
    if own is not None and " " not in own:
        only, _, reading = own.rpartition("=")
        if not only or only == pinyin:
            return reading
    letters, tone = pinyin[:-1], pinyin[-1]
    rhotic = letters.endswith("r") and letters != "er"
    if rhotic:
        letters = letters[:-1]
    if tone == "5":
        if character in _PARTICLES:
            return _PARTICLES[character]
        full = mandarin.dictionary().character(character) or pinyin
        letters, tone = (full[:-1], full[-1]) if full[-1] != "5" else (letters, "5")
    jyutping, coda = _coda(character)
    if coda:
        letters, tone = _checked(letters, jyutping, coda), "2"
    elif re.fullmatch("[jx]ie", letters) and jyutping.endswith("aai"):
        letters = letters[0] + "iai"
    letters = _segments(letters, checked=bool(coda))
    return f"{letters}{'r' if rhotic else ''}{tone}"


def _checked(letters: str, jyutping: str, coda: str) -> str:
    """Finals of former checked syllables."""
    open_k = coda == "k" and re.search("(?:aa|a|i|e)k$", jyutping) is not None
    round_k = coda == "k" and re.search("(?:o|oe|u)k$", jyutping) is not None
    if re.fullmatch("[gkh]uo", letters) and coda == "k" and re.match("g?k?w", jyutping):
        return letters[0] + "ue"
    if re.fullmatch("(?:[bpmdtnlgkhzcs]|zh|ch|sh)(?:ai|ei)", letters):
        return letters[:-2] + "e" if coda == "k" else letters
    if re.fullmatch("[bpm]o", letters):
        return letters[0] + "e" if open_k else letters
    if re.fullmatch("[gkhl]e", letters) and not open_k:
        return letters[0] + "o"
    if letters == "e":
        return "nge" if open_k else "ngo"
    if round_k:
        for ending in ("iao", "ue", "ve", "u"):
            if ending == "u" and letters[0] not in "jqxy":
                continue
            if letters.endswith(ending) and letters[0] in "jqxlny":
                return "yo" if letters[0] == "y" else letters[0] + "io"
        if letters == "yao":
            return "yo"
    if letters in ("lv", "nv") and coda == "t":
        return letters[0] + "u"
    return letters


_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        ("^(z|c|s)h", r"\1"),
        ("^([bpmf])eng$", r"\1ong"),
        ("^weng$", "ong"),
        ("eng$", "en"),
        ("ing$", "in"),
        ("^([gkh])e$", r"\1o"),
        ("^e$", "ngo"),
        ("^wo$", "wo"),
        ("^(.*[^bpmfw])uo$", r"\1o"),
        ("^(?=(?:ai|an|ang|ao|ou|en)$)", "ng"),
        ("^hu$", "fu"),
        ("^([nl])ei$", r"\1ui"),
        ("^([dtnlzcs])un$", r"\1en"),
        ("^n(?=[iv])(?!in$|i$)", "ny"),
        ("^n(?=in?$)", "ny"),
        ("^l", "n"),
        ("^nyv", "nyü"),
    )
)


def _segments(letters: str, *, checked: bool) -> str:
    """Initials and finals that differ in every word."""
    alveolar = re.match("[zcs](?!h)|[dtnl]", letters) is not None
    for pattern, replacement in _RULES:
        if pattern.pattern == "^([dtnlzcs])un$" and not alveolar:
            continue
        if pattern.pattern == "^([gkh])e$" and checked:
            continue
        letters = pattern.sub(replacement, letters)
    return letters


def pronounce(phrase: str, fixed: Fixed | None = None) -> list[Syllable]:
    """Read a phrase of Chinese characters as in Chengdu.

    Args:
        phrase: Characters only, simplified.
        fixed: Readings that a user fixed; they win.

    Returns:
        Its syllables; characters that :func:`knows` does not know are left out.
    """
    spoken = mandarin.pronounce(phrase, fixed)
    for made in spoken:
        if made.rule != "user":
            made.citation = syllable(phrase[made.start], made.citation)
            made.rule = made.rule if made.rule != "word.erhua" else "word.erhua"
        made.surface = made.citation
    return spoken
