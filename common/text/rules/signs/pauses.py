"""Punctuation as pauses; runs become one pause, the strongest of them."""

from __future__ import annotations

import re

from common.text.scan import RuleBook, Scan, Token

_PAUSES = {
    **dict.fromkeys(",，()（）【】[]〔〕{}｛｝|｜﹐⸺\n\r\v\f\u2028\u2029", ","),
    **dict.fromkeys("、﹑", "、"),
    **dict.fromkeys("。．｡.", "."),
    **dict.fromkeys("!！❗‼", "!"),
    **dict.fromkeys("?？❓", "?"),
    **dict.fromkeys(";；", ";"),
    **dict.fromkeys(":：", ":"),
    **dict.fromkeys("…⋯", "…"),
    **dict.fromkeys("—―", "—"),
}
_STRENGTH = ".!?…;:—,、"
_MARK = dict(zip(_STRENGTH, "。！？…；：—，、", strict=True))
QUOTES = "《》〈〉「」『』“”‘’\"'＂＇﹁﹂«»`´′″"
_INSIDE = "".join(re.escape(character) for character in _PAUSES)
_LIST_MARK = re.compile(r"(?:^|[\s。；;！？])\d{1,2}$")


def _pause(match: re.Match[str], state: Scan) -> Token:
    found = [_PAUSES[c] for c in match[0] if c in _PAUSES]
    mark = min(found, key=_STRENGTH.index)
    if mark == "." and "..." in match[0]:
        mark = "…"
    if match[0].strip() in (".", ".", "．") and _LIST_MARK.search(
        state.before(match.start(), 4)
    ):
        mark = "、"
    return Token(match.start(), match.end(), _MARK[mark], "pause", mark)


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    run = rf"[{_INSIDE}](?:[{_INSIDE}{QUOTES}\s]*[{_INSIDE}{QUOTES}])?"
    book.rule("pause", "s", run)(_pause)
