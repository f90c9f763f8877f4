"""How texts are read, for people and for programs: ``yaohe-edge read``."""

from __future__ import annotations

import json
from typing import IO, Any

from common.errors import YaoheError
from common.protocol.synthesis import DEFAULT_DIALECT, mended, require_context
from common.text import Lexicon, read
from common.text.receipt import UNREAD_RULE, Reading


def read_one(
    text: str,
    dialect: str,
    *,
    as_json: bool,
    lexicon: Lexicon | None = None,
    context: str | None = None,
    ssml: bool = False,
) -> tuple[str, bool]:
    """Read one text.

    Args:
        text: Any string.
        dialect: ``zh``, ``gd`` or ``sc``.
        as_json: Whether a program will read the answer.
        lexicon: The shop's own readings.
        context: What ambiguous forms are about.
        ssml: Whether the text is marked up.

    Returns:
        One JSON object, or lines for a person; and whether all of it could be read.

    Raises:
        YaoheError: ``unknown_dialect``, ``input_too_long`` or ``invalid_request``.
    """
    require_context(context)
    reading = read(mended(text), dialect, lexicon=lexicon, context=context, ssml=ssml)
    is_whole = not reading.unread
    if as_json:
        return json.dumps(reading.as_dict(), ensure_ascii=False), is_whole
    return "\n".join(_told(reading)), is_whole


def read_lines(
    source: IO[bytes], target: IO[str], lexicon: Lexicon | None = None
) -> bool:
    """Read one JSON object a line, write one a line, in order, as they come.

    Args:
        source: Lines ``{"id", "text", "dialect", "context", "ssml"}``; all but
            ``text`` may be absent.
        target: Receives ``{"id", "spoken", "syllables", "surface", "spans",
            "unread"}``, or ``{"id", "error"}`` for a line that is not right.
        lexicon: The shop's own readings.

    Returns:
        Whether every line was right.
    """
    is_right = True
    for line in source:
        if not line.strip():
            continue
        answer = _answer(line, lexicon)
        is_right = is_right and "error" not in answer
        # ASCII: whatever the terminal's encoding is, a program can read it.
        target.write(json.dumps(answer) + "\n")
        target.flush()
    return is_right


def _answer(line: bytes, lexicon: Lexicon | None) -> dict[str, Any]:
    try:
        asked = json.loads(line, parse_constant=_refused)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("text"), str):
        error = YaoheError("invalid_request", 'a line is no object with a "text"')
        name = asked.get("id") if isinstance(asked, dict) else None
        return {"id": name, **error.as_body()}
    dialect = asked.get("dialect") or DEFAULT_DIALECT
    context = str(asked.get("context") or "")
    try:
        require_context(context)
        reading = read(
            mended(asked["text"]),
            str(dialect),
            lexicon=lexicon,
            context=context,
            ssml=asked.get("ssml") is True,
        )
    except YaoheError as error:
        return {"id": asked.get("id"), **error.as_body()}
    return {"id": asked.get("id"), **reading.as_dict()}


def _refused(constant: str) -> None:
    """Refuse ``NaN`` and its like: an id that is one would make our line no JSON."""
    raise ValueError(constant)


def _told(reading: Reading) -> list[str]:
    """The reading for a person: what is said, and for each span its rule."""
    lines = [f"spoken    {reading.spoken}", f"syllables {' '.join(reading.surface)}"]
    for span in reading.spans:
        said = " ".join(reading.surface[span.first : span.first + span.count])
        spoken = "?" if span.rule == UNREAD_RULE else span.spoken or "-"
        lines.append(f"  {span.text!r:14} {spoken:14} {said:32} {span.rule}".rstrip())
    return lines
