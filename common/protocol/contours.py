"""How the tones of a dialect are spoken: the table inside a dialect pack.

``common.text.contours`` names tones: its contours stand in symbols and phrase keys and
are the same for everybody. A pack's table says how its own weights are asked for those
tones, so that a better-sounding table is a new pack and never another key.

Rules of this module:

* Every contour is three levels in tenths, as :class:`common.text.symbols.Symbol` has
  them; a tone has one for all places and perhaps others for the ends of a phrase and
  after certain tones.
* A segment is replaced by exactly one other, so that no symbol changes its place.
* Known fields are strict, unknown ones ignored, an unknown major format refused.
* Any bytes give a table or ``pack_invalid``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError, field_validator

from common.errors import YaoheError
from common.protocol.canonical import strict_object
from common.protocol.manifest import Name, Part
from common.text.symbols import CODAS, GLIDES, ONSETS, SYLLABIC, VOWELS

MAX_CONTOURS_BYTES = 64 * 1024
FORMAT = "yaohe-contours/1"
MIN_LEVEL, MAX_LEVEL = 5, 60
"""Levels in tenths: half a step beyond the 1-5 scale, and one above it."""
MAX_CENTS = 2400
"""How far a voice's line may lie from 200 Hz, or a step, fall or drop reach."""
MIN_PACE, MAX_PACE = 500, 3000
"""How much shorter a syllable may be made, in thousandths of its own speed."""

ToneName = Annotated[str, StringConstraints(pattern=r"\A[1-6]\z")]
Level = Annotated[int, Field(ge=MIN_LEVEL, le=MAX_LEVEL)]
Levels = Annotated[list[Level], Field(min_length=3, max_length=3)]
Cents = Annotated[int, Field(ge=-MAX_CENTS, le=MAX_CENTS)]
Step = Annotated[int, Field(ge=0, le=MAX_CENTS)]
Share = Annotated[int, Field(ge=0, le=1000)]
Pace = Annotated[int, Field(ge=MIN_PACE, le=MAX_PACE)]

_KINDS = (ONSETS, GLIDES, VOWELS + SYLLABIC, CODAS)


def _kind(name: str) -> int | None:
    """Which place of a syllable a segment fills; None for what is no segment."""
    return next((at for at, names in enumerate(_KINDS) if name in names), None)


class Tone(Part):
    """How one tone is spoken; the first of these that fits is taken.

    Attributes:
        after: Inside a phrase after another tone, by that tone.
        last: At the end of a phrase.
        first: At its beginning.
        anywhere: Everywhere else.
    """

    anywhere: Levels
    first: Levels | None = None
    last: Levels | None = None
    after: Annotated[dict[ToneName, Levels], Field(default_factory=dict)]


class Scale(Part):
    """The line on which one voice sings levels, and how firmly it is held to it.

    Attributes:
        middle: Level 3 at the start of an utterance, in cents over 200 Hz.
        step: Cents from one level to the next.
        fall: Cents by which the voice rises in a second of a phrase; below zero it
            falls.
        drop: The same from one phrase to the next.
        hold: Share of the way to the line, in thousandths; 0 leaves the voice alone.
    """

    middle: Cents
    step: Step
    fall: Cents
    drop: Cents
    hold: Share


class Dialect(Part):
    """How one dialect is spoken.

    Attributes:
        tones: Its tones, 5 the light one of ``zh`` and ``sc``.
        segments: Segments that these weights cannot say well, and what they say
            instead.
        checked: Pace of syllables that end in -p, -t, -k, in thousandths; above 1000
            they are shorter.
        scales: How each voice, by its logical name, sings the levels; a voice without
            one sings them as its weights do.
    """

    tones: Annotated[dict[ToneName, Tone], Field(min_length=1)]
    segments: Annotated[dict[str, str], Field(max_length=64, default_factory=dict)]
    checked: Pace = 1000
    scales: Annotated[dict[Name, Scale], Field(max_length=64, default_factory=dict)]

    @field_validator("segments")
    @classmethod
    def _known(cls, value: dict[str, str]) -> dict[str, str]:
        """Refuse what is no segment, and a consonant for a vowel."""
        for name, instead in value.items():
            for each in (name, instead):
                if _kind(each) is None:
                    raise ValueError(f"{each!r} is no segment")
            if _kind(name) != _kind(instead):
                raise ValueError(f"{instead} cannot stand where {name} does")
        return value


class Contours(Part):
    """The table; build it with :func:`parse_contours`.

    Attributes:
        format: ``yaohe-contours/1``, perhaps with a minor number.
        dialects: Dialects by name.
    """

    format: Annotated[str, Field(pattern=r"\Ayaohe-contours/1(\.[0-9]{1,4})?\z")]
    dialects: Annotated[dict[Name, Dialect], Field(min_length=1, max_length=64)]


def parse_contours(data: bytes) -> Contours:
    """Read a table.

    Args:
        data: Content of the file; any bytes are accepted.

    Returns:
        The table.

    Raises:
        YaoheError: ``pack_invalid``.
    """
    values = strict_object(data, limit=MAX_CONTOURS_BYTES, code="pack_invalid")
    try:
        return Contours.model_validate(values)
    except ValidationError as refusal:
        problem = refusal.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "table"
        raise YaoheError(
            "pack_invalid", f"not a table of contours: {where}: {problem['msg']}"
        ) from None
