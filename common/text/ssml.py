"""The SSML subset: break, sub, say-as, phoneme, prosody, emphasis, lang.

Rules of this module: a scanner of its own and no XML library, so there is no DTD and
nothing expands; a document type makes the text unread; unknown tags keep their text;
unbalanced tags are tolerated; every character lands in exactly one piece.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from common.text.pieces import (
    ENTITY,
    MAX_BREAK_MS,
    Piece,
    entity,
    entity_piece,
    parse_reading,
)
from common.text.styles import PLAIN, Style

MAX_DEPTH = 64
"""Deepest nesting that is followed; deeper tags only keep their text."""

MAX_TAG = 1000
"""Longest tag or declaration, characters; a longer one is no markup."""

_MARK = re.compile(
    rf"<!--(?:.*?)(?:-->|$)|<\?[^>]{{0,{MAX_TAG}}}>|"
    rf"<![^\[>]{{0,{MAX_TAG}}}(?:\[.{{0,{MAX_TAG}}}?\]\s{{0,9}})?>|"
    rf"</?[A-Za-z][^<>]{{0,{MAX_TAG}}}>|{ENTITY}",
    re.DOTALL,
)
_TAG = re.compile(r"<(/?)\s*([A-Za-z][\w:.-]*)((?:[^<>])*?)(/?)>", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BREAKS = {
    "none": 0,
    "x-weak": 100,
    "weak": 200,
    "medium": 400,
    "strong": 700,
    "x-strong": 1000,
}
_RATES = {"x-slow": 500, "slow": 750, "medium": 1000, "fast": 1250, "x-fast": 1600}
_PITCHES = {"x-low": -400, "low": -200, "medium": 0, "high": 200, "x-high": 400}
_VOLUMES = {
    "silent": -9600,
    "x-soft": -1200,
    "soft": -600,
    "medium": 0,
    "loud": 400,
    "x-loud": 600,
}
_EMPHASES = {"strong": (930, 300), "moderate": (970, 150), "reduced": (1050, -200)}
_LANGUAGES = {
    "zh-hk": "gd",
    "zh-mo": "gd",
    "yue": "gd",
    "yue-hk": "gd",
    "zh-yue": "gd",
    "zh-cn-sichuan": "sc",
    "zh-sc": "sc",
    "zh": "zh",
    "zh-cn": "zh",
    "cmn": "zh",
    "cmn-cn": "zh",
}
MIN_RATE, MAX_RATE = 250, 4000
MAX_PITCH = 2400
MIN_VOLUME, MAX_VOLUME = -9600, 2000


@dataclass(frozen=True)
class _Frame:
    """What an open tag asks of the text inside it."""

    tag: str
    style: Style = PLAIN
    language: str = ""
    say_as: str = ""


@dataclass
class _Parser:
    text: str
    dialect: str
    pieces: list[Piece] = field(default_factory=list)
    styles: list[Style] = field(default_factory=lambda: [PLAIN])
    frames: list[_Frame] = field(default_factory=lambda: [_Frame("")])

    def style(self) -> int:
        """Index of the current style."""
        style = self.frames[-1].style
        if style not in self.styles:
            self.styles.append(style)
        return self.styles.index(style)

    def say(self, start: int, end: int, text: str) -> None:
        """Add text under the current tags."""
        top = self.frames[-1]
        self.pieces.append(
            Piece(
                "text",
                start,
                end,
                text,
                style=self.style(),
                language=top.language,
                say_as=top.say_as,
            )
        )

    def hush(self, start: int, end: int) -> None:
        """Add markup."""
        self.pieces.append(Piece("silent", start, end, rule="silent.markup"))


def parse(text: str, dialect: str) -> tuple[list[Piece], list[Style]]:
    """Cut a marked-up text into pieces.

    Args:
        text: The input.
        dialect: The text's dialect.

    Returns:
        Pieces that cover the input, and the styles they point to.
    """
    parser = _Parser(text, dialect)
    place = 0
    while place < len(text):
        match = _MARK.search(text, place)
        if match is None:
            break
        if match.start() > place:
            parser.say(place, match.start(), text[place : match.start()])
        place = _mark(parser, match)
    if place < len(text):
        parser.say(place, len(text), text[place:])
    return parser.pieces, parser.styles


def _mark(parser: _Parser, match: re.Match[str]) -> int:
    mark, start, end = match[0], match.start(), match.end()
    if mark.startswith("&"):
        said = entity(match[1])
        made = entity_piece(parser.text, start, end, mark if said is None else said)
        if made.kind == "text":
            parser.say(start, end, made.text)
        else:
            parser.pieces.append(made)
        return end
    if mark.startswith("<!") and not mark.startswith("<!--"):
        parser.pieces.append(Piece("unread", start, end))
        return end
    tag = _TAG.fullmatch(mark)
    if tag is None:
        parser.hush(start, end)
        return end
    name = tag[2].lower().rpartition(":")[2]
    if tag[1]:
        _close(parser, name)
        if name in ("p", "s", "speak"):
            parser.pieces.append(
                Piece("break", start, end, rule="silent.paragraph", ms=-1)
            )
        else:
            parser.hush(start, end)
        return end
    attributes = {
        key.lower().rpartition(":")[2]: html.unescape(double or single)
        for key, double, single in _ATTRIBUTE.findall(tag[3])
    }
    if name == "break":
        _break(parser, attributes, start, end)
        return end
    if name in ("sub", "phoneme") and not tag[4]:
        stop = _whole(parser, name, attributes, start, end)
        if stop:
            return stop
    parser.hush(start, end)
    if not tag[4] and len(parser.frames) < MAX_DEPTH:
        parser.frames.append(_open(parser.frames[-1], name, attributes))
    return end


def _close(parser: _Parser, name: str) -> None:
    for depth in range(len(parser.frames) - 1, 0, -1):
        if parser.frames[depth].tag == name:
            del parser.frames[depth:]
            return


def _break(
    parser: _Parser, attributes: Mapping[str, str], start: int, end: int
) -> None:
    ms = _BREAKS.get(attributes.get("strength", "medium"), _BREAKS["medium"])
    time = re.fullmatch(
        r"\+?(\d+(?:\.\d+)?)\s*(ms|s)", attributes.get("time", "").strip()
    )
    if time:
        ms = round(float(time[1]) * (1000 if time[2] == "s" else 1))
    ms = min(ms, MAX_BREAK_MS)
    if ms == 0:
        parser.hush(start, end)
        return
    parser.pieces.append(
        Piece("break", start, end, rule="silent.break", ms=ms, style=parser.style())
    )


def _whole(
    parser: _Parser, name: str, attributes: Mapping[str, str], start: int, end: int
) -> int:
    """Take a ``sub`` or ``phoneme`` element at once; 0 if it has no plain content."""
    inner = re.compile(rf"([^<>]*)(</{name}\s*>)", re.IGNORECASE).match(
        parser.text, end
    )
    if inner is None or not inner[1]:
        return 0
    word = html.unescape(inner[1])
    language = parser.frames[-1].language or parser.dialect
    if name == "sub":
        found = parse_reading("=" + attributes.get("alias", ""), word, language)
    else:
        alphabet = attributes.get("alphabet", "").lower().removeprefix("x-")
        spelled = {"pinyin": "zh", "jyutping": "gd", "": language}.get(alphabet)
        fits = spelled is not None and (spelled == "gd") == (language == "gd")
        found = (
            parse_reading(attributes.get("ph", ""), word, language) if fits else None
        )
    parser.hush(start, end)
    if found is None:
        parser.pieces.append(Piece("unread", inner.start(1), inner.end(1)))
    else:
        rule = "ssml.sub" if name == "sub" else "ssml.phoneme"
        parser.pieces.append(
            Piece(
                "fixed",
                inner.start(1),
                inner.end(1),
                *found,
                rule,
                style=parser.style(),
                language=parser.frames[-1].language,
            )
        )
    parser.hush(inner.start(2), inner.end(2))
    return inner.end(2)


def _open(outer: _Frame, name: str, attributes: Mapping[str, str]) -> _Frame:
    frame = replace(outer, tag=name)
    if name == "prosody":
        return replace(frame, style=_prosody(outer.style, attributes))
    if name == "emphasis":
        speed, volume = _EMPHASES.get(
            attributes.get("level", "moderate"), _EMPHASES["moderate"]
        )
        return replace(frame, style=_shifted(outer.style, speed, 0, volume))
    if name == "say-as":
        return replace(frame, say_as=attributes.get("interpret-as", "").lower())
    if "lang" in attributes:
        asked = attributes["lang"].lower()
        language = "en" if asked.startswith("en") else _LANGUAGES.get(asked, "")
        return replace(frame, language=language or outer.language)
    return frame


def _shifted(style: Style, speed: int, pitch: int, volume: int) -> Style:
    return Style(
        speed=min(MAX_RATE, max(MIN_RATE, style.speed * speed // 1000)),
        pitch=min(MAX_PITCH, max(-MAX_PITCH, style.pitch + pitch)),
        volume=min(MAX_VOLUME, max(MIN_VOLUME, style.volume + volume)),
    )


def _prosody(style: Style, attributes: Mapping[str, str]) -> Style:
    rate = attributes.get("rate", "").strip().lower()
    pitch = attributes.get("pitch", "").strip().lower()
    volume = attributes.get("volume", "").strip().lower()
    speed, cents, gain = 1000, 0, 0
    if rate in _RATES:
        speed = _RATES[rate]
    elif found := re.fullmatch(r"([+-]?)(\d{1,3}(?:\.\d+)?)%", rate):
        share = round(float(found[2]) * 10)
        speed = {"+": 1000 + share, "-": max(0, 1000 - share)}.get(found[1], share)
    elif found := re.fullmatch(r"\d(?:\.\d+)?", rate):
        speed = round(float(found[0]) * 1000)
    if pitch in _PITCHES:
        cents = _PITCHES[pitch]
    elif found := re.fullmatch(r"([+-]?\d{1,2}(?:\.\d+)?)st", pitch):
        cents = round(float(found[1]) * 100)
    if volume in _VOLUMES:
        gain = _VOLUMES[volume]
    elif found := re.fullmatch(r"([+-]?\d{1,2}(?:\.\d+)?)db", volume):
        gain = round(float(found[1]) * 100)
    return _shifted(style, speed, cents, gain)
