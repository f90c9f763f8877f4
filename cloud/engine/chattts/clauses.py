"""Long text in pieces that the model can say in one breath, cut where one pauses."""

from __future__ import annotations

import re

LONGEST = 60
"""Characters of a piece at most; about 15 seconds of speech."""
SHORTEST = 12
"""Characters that a piece has at least before the end of a sentence cuts it."""

_CLAUSE = re.compile(r"[^。！？!?；;，,、：:\n]*[。！？!?；;，,、：:\n]*\s*")
_SENTENCE_ENDS = frozenset("。！？!?；;\n")


def pieces(text: str, longest: int = LONGEST) -> list[str]:
    """Cut a text.

    Args:
        text: Any text.
        longest: Characters of a piece at most.

    Returns:
        Pieces which together are the text without the space around them; none is
        empty, and each but the last ends at a pause if it has one at all.
    """
    made: list[str] = []
    held = ""
    for clause in _short_clauses(text, longest):
        if held and len(held) + len(clause) > longest:
            made.append(held)
            held = ""
        held += clause
        ends = held.rstrip(" \t")[-1:] in _SENTENCE_ENDS
        if ends and len(held) >= min(SHORTEST, longest):
            made.append(held)
            held = ""
    made.append(held)
    return [piece.strip() for piece in made if piece.strip()]


def _short_clauses(text: str, longest: int) -> list[str]:
    """Clauses with their marks; one that is too long is cut at a space, or anywhere."""
    short: list[str] = []
    for clause in _CLAUSE.findall(text):
        rest = clause
        while len(rest) > longest:
            space = rest.rfind(" ", 1, longest)
            cut = space + 1 if space > 0 else longest
            short.append(rest[:cut])
            rest = rest[cut:]
        short.append(rest)
    return short
