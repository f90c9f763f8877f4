"""Whether a recording says what it should, as a recogniser hears it.

For engines that choose readings themselves. Rules of this module:

* Every number is read back, exactly: a price that is heard as another, or not at all,
  fails, and so does a number that nobody asked for. A recogniser may write a long
  number in words that sound the same (酒店酒 for 九点九), with no numeral beside them.
* The rest must be near: homophones are one syllable, and a recogniser errs too.
* A recogniser writes digits and does not say how it heard them: each run of digits
  counts as the reading, whole or digit by digit, that fits.
* The sound is as long as so many syllables can be.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator

from common.errors import YaoheError
from common.text import read
from common.text.receipt import Reading

SHORTEST_S, LONGEST_S = 0.08, 0.6
"""Seconds of a syllable; the longest leaves room for pauses."""
EDGE_S = 1.5
"""Silence that may stand before and after."""
ALIKE = 0.75
"""Share of syllables that must be heard."""
HOMOPHONES_FROM = 3
"""Syllables from which a number may be written in other words: shorter ones sound like
too much else."""
MAX_VARIANTS = 64
"""Ways to read the digits that a recogniser wrote."""

_NUMERALS = "零一二三四五六七八九十百千万亿"
_NUMBER = re.compile(f"[{_NUMERALS}][{_NUMERALS}点]*")
_IDEOGRAPH = re.compile("[\u4e00-\u9fff]")
_DIGITS = re.compile(r"[0-9]+")
_SAME = str.maketrans({"两": "二", "幺": "一", "〇": "零"})
_SPELLED = str.maketrans("0123456789", "零一二三四五六七八九")
_TONE = re.compile(r"[0-9]")


def objection(reading: Reading, heard: str, duration_s: float) -> str:
    """Say what is wrong with a recording.

    Args:
        reading: What it should say.
        heard: What a recogniser wrote.
        duration_s: Its length in seconds.

    Returns:
        The reason in a few words; empty where nothing is wrong.
    """
    count = len(reading.syllables)
    if not SHORTEST_S * count <= duration_s <= LONGEST_S * count + EDGE_S:
        return f"{duration_s:.1f} s for {count} syllables"
    objections = [_differs(reading, variant) for variant in _variants(heard)]
    return "" if "" in objections else objections[0]


def _differs(reading: Reading, heard: str) -> str:
    """Why one way to read what was heard is not the reading."""
    try:
        other = read(heard, reading.dialect)
    except YaoheError as error:
        return f"what was heard cannot be read: {error.message}"
    wanted, long = _numbers(reading)
    got = _NUMBER.findall(_respelled(other, wanted))
    rest = iter(got)
    missing = [number for number in wanted if number not in rest]
    if missing:
        return f"{missing[0]} is not heard in {heard!r}"
    extra = [number for number in got if len(number) > 1 and number not in long]
    if extra:
        return f"{extra[0]} is heard and not asked for"
    alike = difflib.SequenceMatcher(
        None, _syllables(reading), _syllables(other), autojunk=False
    ).ratio()
    return "" if alike >= ALIKE else f"{heard!r} is heard"


def _respelled(other: Reading, wanted: list[str]) -> str:
    """What was heard, words that sound like a wanted long number written as it."""
    spoken = list(other.spoken.translate(_SAME))
    places = [at for at, letter in enumerate(spoken) if _IDEOGRAPH.match(letter)]
    said = _syllables(other)
    if len(places) != len(said):
        return "".join(spoken)  # something is not a character a syllable
    numerals = set(_syllables(read(_NUMERALS + "点")))
    for number in wanted:
        sought = _syllables(read(number))
        count = len(sought)
        if count < HOMOPHONES_FROM:
            continue
        for at in range(len(said) - count + 1):
            beside = {*said[max(0, at - 1) : at], *said[at + count : at + count + 1]}
            if said[at : at + count] == sought and not beside & numerals:
                for step, letter in enumerate(number):
                    spoken[places[at + step]] = letter
    return "".join(spoken)


def _numbers(reading: Reading) -> tuple[list[str], set[str]]:
    """Numbers that must be heard, and all long ones that may be.

    A single numeral counts where the text has a digit: 一起 has none to lose.
    """
    spoken, is_digit = "", []
    for span in reading.spans:
        spoken += span.spoken
        is_digit += [any(c.isdigit() for c in span.text)] * len(span.spoken)
    must, long = [], set()
    for match in _NUMBER.finditer(spoken.translate(_SAME)):
        is_long = len(match[0]) > 1
        if is_long or any(is_digit[match.start() : match.end()]):
            must.append(match[0])
        if is_long:
            long.add(match[0])
    return must, long


def _variants(heard: str) -> Iterator[str]:
    """What was heard, its runs of digits left to the reader or spelled."""
    runs = list(_DIGITS.finditer(heard))
    ways = itertools.product((False, True), repeat=len(runs))
    for way in itertools.islice(ways, MAX_VARIANTS):
        text = heard
        # From the right, so that places to the left keep their numbers.
        for run, is_spelled in reversed(list(zip(runs, way, strict=True))):
            if is_spelled:
                spelled = run[0].translate(_SPELLED)
                text = text[: run.start()] + spelled + text[run.end() :]
        yield text


def _syllables(reading: Reading) -> list[str]:
    """Syllables without tones and without erhua."""
    plain = [_TONE.sub("", syllable) for syllable in reading.syllables]
    return [s[:-1] if s.endswith("r") and len(s) > 2 else s for s in plain]
