"""What a reading has ChatTTS say: lines of words, and the silence between them.

The model takes characters, so a reading's symbols do not reach it. A break that was
asked for does: lines end there, and its silence is ours. So do control tokens such as
``[laugh]``, which a reading marks as silent, where whoever runs the engine allows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cloud.engine.chattts.clauses import LONGEST, pieces
from cloud.engine.chattts.sequence import MARKUP, Tokenizer, Words
from common.errors import YaoheError
from common.text.receipt import Reading
from common.text.symbols import BREAK

_BREAK_RULE = "silent.break"
_CONTROL_RULE = "silent.control_token"
_NO_MARKUP = str.maketrans(dict.fromkeys(MARKUP.values(), " "))


@dataclass(frozen=True)
class Line:
    """Something that is said in one breath, or silence.

    Attributes:
        words: What is said; none of them are silence.
        silence_ms: How long the silence is, milliseconds.
    """

    words: Words
    silence_ms: int = 0


def lines(
    reading: Reading,
    tokenizer: Tokenizer,
    longest: int = LONGEST,
    *,
    has_markup: bool = False,
) -> list[Line]:
    """Cut a reading into lines.

    Args:
        reading: What is to be said.
        tokenizer: The model's.
        longest: Characters of a line at most.
        has_markup: Whether control tokens in the text are meant.

    Returns:
        Lines in order; together they say every word once.

    Raises:
        YaoheError: ``unreadable_text`` for characters that the model has no token for,
            ``nothing_to_say`` where no line has a word.
    """
    made: list[Line] = []
    for text, silence_ms in _parts(reading, has_markup=has_markup):
        for piece in pieces(text, longest):
            words = tokenizer.words(piece, has_markup=has_markup)
            # Marks alone would have the model say something of its own.
            if words.unsayable or any(map(str.isalnum, piece)):
                made.append(Line(words))
        if silence_ms:
            made.append(Line(Words(()), silence_ms))
    unsayable = [character for line in made for character in line.words.unsayable]
    if unsayable:
        raise YaoheError(
            "unreadable_text",
            f"this engine has no token for {''.join(dict.fromkeys(unsayable))}",
            param="input",
        )
    if not any(line.words.ids for line in made):
        raise YaoheError("nothing_to_say", "there is nothing to say", param="input")
    return made


def _parts(reading: Reading, *, has_markup: bool) -> Iterator[tuple[str, int]]:
    """Text up to each break, and the break's length."""
    breaks = iter([unit.ms for unit in reading.units if unit.value == BREAK])
    spoken = reading.spoken.translate(_NO_MARKUP)
    text, said, at = "", 0, 0
    for span in reading.spans:
        # Spans speak in order; between two Latin ones the reading has put a space.
        at = max(spoken.find(span.spoken, at), at) + len(span.spoken)
        if span.rule not in (_BREAK_RULE, _CONTROL_RULE):
            continue
        text, said = text + spoken[said:at], at
        if span.rule == _BREAK_RULE:
            yield text, next(breaks, 0)
            text = ""
        elif has_markup:
            text += MARKUP.get(span.text, "")
    yield text + spoken[said:], 0
