"""From the input to tokens: markup, the shop's lexicon, then the rules.

Rules of this module: inline overrides and markup win over the lexicon, the lexicon wins
over every rule; positions in tokens are positions in the input whatever markup did;
what nobody sees parts nothing, and has a token all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from common.text import forms, say_as, ssml
from common.text.lexicon import Entry, Lexicon
from common.text.pieces import Piece, inline_pieces
from common.text.receipt import UNREAD_RULE
from common.text.rules import BOOK, ENGLISH
from common.text.rules.english import is_english
from common.text.scan import HAN, HAN_RULE, Scan, Token, scan
from common.text.styles import PLAIN, Style
from common.text.symbols import BREAK

_SENTENCE = re.compile(
    r"(?:[^。！？!?\n.]|\.(?!\s)|!(?==))*(?:\.(?=\s)|[。！？!?\n]+|$)"
)


@dataclass
class _Page:
    """The text as one string, with the way back to the input.

    Attributes:
        written: Characters as written, widths unified.
        simplified: The same in simplified characters.
        starts: Where each character began in the input; empty if nothing moved.
        ends: Where each ended.
    """

    written: str
    simplified: str
    starts: Sequence[int]
    ends: Sequence[int]

    def located(self, token: Token) -> Token:
        """The token with its places in the input."""
        if not self.starts:
            return token
        start, end = self.starts[token.start], self.ends[token.end - 1]
        return replace(token, start=start, end=end)


def _page(pieces: Sequence[Piece], text: str, hidden: Set[int]) -> _Page:
    if len(pieces) == 1 and pieces[0].text == text and not hidden:
        starts: list[int] = []
        ends: list[int] = []
        plain = text
    else:
        starts, ends = [], []
        for piece in pieces:
            if piece.kind != "text":
                continue
            moved = _is_moved(piece)
            for offset in _shown(piece, hidden):
                last = moved and offset == len(piece.text) - 1
                starts.append(piece.start + (min(offset, 1) if moved else offset))
                ends.append(piece.end if last or moved else piece.start + offset + 1)
        plain = "".join(
            piece.text[offset]
            for piece in pieces
            if piece.kind == "text"
            for offset in _shown(piece, hidden)
        )
    unified = forms.unify(plain)
    return _Page(unified, forms.convert(unified, "t2s"), starts, ends)


def _is_moved(piece: Piece) -> bool:
    """Whether markup wrote a piece's characters in another length."""
    return len(piece.text) != piece.end - piece.start


def _shown(piece: Piece, hidden: Set[int]) -> Sequence[int]:
    """Offsets of a piece's characters that are on the page."""
    offsets = range(len(piece.text))
    if not hidden or _is_moved(piece):
        return offsets
    return [offset for offset in offsets if piece.start + offset not in hidden]


def _covered(tokens: Sequence[Token], hidden: Set[int]) -> Iterator[Token]:
    """All tokens, and silent ones where hidden characters are in none of them."""
    place = 0
    for token in tokens:
        if place < token.start and place in hidden:
            yield Token(place, token.start, "", "silent.control")
        yield token
        place = max(place, token.end)


def tokens_of(
    text: str,
    dialect: str,
    *,
    lexicon: Lexicon | None = None,
    context: str = "",
    marked_up: bool = False,
) -> tuple[list[Token], list[Style]]:
    """Cut a text into tokens.

    Args:
        text: The input.
        dialect: ``zh``, ``gd`` or ``sc``.
        lexicon: The shop's readings.
        context: What ambiguous forms are about.
        marked_up: Whether the text is SSML.

    Returns:
        Tokens that cover the input in order, and the styles they point to.
    """
    styles = [PLAIN]
    if marked_up:
        pieces, styles = ssml.parse(text, dialect)
    else:
        pieces = inline_pieces(text, dialect)
    hidden = frozenset(forms.unseen(text))
    page = _page(pieces, text, hidden)
    state = Scan(
        page.simplified, dialect, context if context in say_as.CONTEXTS else ""
    )
    tokens: list[Token] = []
    place = 0
    for run in _runs(pieces):
        if run[0].kind == "text":
            end = place + sum(len(_shown(piece, hidden)) for piece in run)
            tokens.extend(_read_piece(state, page, run[0], place, end, lexicon))
            place = end
        else:
            tokens.append(_token_of(run[0], dialect))
    return list(_covered(tokens, hidden)) if hidden else tokens, styles


def _runs(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Pieces that are read together: text stays one where an entity stands in it."""
    run: list[Piece] = []
    for piece in pieces:
        if run and not _goes_on(run[-1], piece):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _goes_on(piece: Piece, following: Piece) -> bool:
    parts = (piece, following)
    if any(part.kind != "text" for part in parts):
        return False
    # Chinese is located character by character, so what moved it stays apart.
    if any(_is_moved(part) and re.search(f"[{HAN}]", part.text) for part in parts):
        return False
    one, other = ((part.style, part.language, part.say_as) for part in parts)
    return one == other


def _token_of(piece: Piece, dialect: str) -> Token:
    """The token of a piece that is no text."""
    if piece.kind == "unread":
        return Token(piece.start, piece.end, "", UNREAD_RULE)
    if piece.kind == "silent":
        return Token(piece.start, piece.end, "", piece.rule)
    language = piece.language if piece.language != "en" else ""
    if piece.kind == "break":
        if piece.ms < 0:
            return Token(piece.start, piece.end, "", piece.rule, ".")
        made = Token(piece.start, piece.end, "", piece.rule, BREAK, (), piece.ms)
    else:
        said = piece.text if piece.readings else _said(piece.text, language or dialect)
        rule = piece.rule if said else UNREAD_RULE
        made = Token(piece.start, piece.end, said, rule, "", piece.readings)
    return replace(made, style=piece.style, language=language)


def _read_piece(
    state: Scan,
    page: _Page,
    piece: Piece,
    start: int,
    end: int,
    lexicon: Lexicon | None,
) -> Iterator[Token]:
    language = piece.language if piece.language not in ("", "en") else ""
    dialect = language or state.dialect
    local = replace(state, dialect=dialect, tokens=[])
    if piece.say_as in say_as.CONTEXTS:
        said = say_as.speak(page.simplified[start:end], piece.say_as, dialect)
        if said is not None:
            made = Token(start, end, said, f"say_as.{piece.say_as}")
            local.tokens.append(made)
            start = end
        else:
            local.context = piece.say_as
    for stop, until, entry in _known(page, dialect, start, end, lexicon):
        _scan(local, start, stop, piece.language == "en")
        if entry is not None:
            local.tokens.append(_entry_token(stop, until, entry, page, dialect))
        start = until
    for token in local.tokens:
        if dialect == "gd":
            token = _traditional(token, page)
        if piece.style or language:
            token = replace(token, style=piece.style, language=language)
        yield page.located(token)


def _known(
    page: _Page, dialect: str, start: int, end: int, lexicon: Lexicon | None
) -> Iterator[tuple[int, int, Entry | None]]:
    """Words of the lexicon in a range, then the range's end."""
    if lexicon is not None:
        yield from lexicon.find(page.simplified, dialect, start, end)
    yield end, end, None


def _scan(state: Scan, start: int, end: int, english: bool) -> None:
    for sentence in _SENTENCE.finditer(state.text, start, end):
        if not sentence[0]:
            continue
        state.is_english = english or is_english(sentence[0])
        book = ENGLISH if state.is_english else BOOK
        scan(state, book, sentence.start(), sentence.end())


def _entry_token(
    start: int, end: int, entry: Entry, page: _Page, dialect: str
) -> Token:
    if not entry.readings:
        said = _said(entry.said, dialect)
        return Token(start, end, said, "lexicon.text" if said else UNREAD_RULE)
    said = entry.said
    if len(said) == end - start:
        said = page.simplified[start:end]
    return Token(start, end, said, "lexicon.reading", "", entry.readings)


def _said(words: str, dialect: str) -> str:
    """Words as rules say them, without pauses; empty if one cannot be read."""
    tokens, _ = tokens_of(words, dialect)
    if any(token.rule == UNREAD_RULE for token in tokens):
        return ""
    spoken = (token.spoken for token in tokens if token.spoken and not token.pause)
    return " ".join(spoken) if words.isascii() else "".join(spoken)


def _traditional(token: Token, page: _Page) -> Token:
    """Give Chinese its traditional characters back; what rules said is converted."""
    if token.rule == HAN_RULE and page.written != page.simplified:
        return replace(token, spoken=page.written[token.start : token.end])
    return replace(token, spoken=forms.convert(token.spoken, "s2hk"))
