"""From settings to a line: whether this box has one, and what is said over it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from common.errors import YaoheError
from common.phrase import phrase_key
from common.protocol.synthesis import SpeechRequest
from common.speech import Speech
from common.text import RULES_VERSION, LexiconFile, read
from edge.cache import Cache
from edge.settings import EdgeSettings
from edge.sync.events import Spoken
from edge.sync.membership import load_membership
from edge.sync.parts import Ota
from edge.sync.service import Sync
from edge.sync.shelf import Shelf

MAX_READ_AGAIN = 200
"""Characters; reading more would make others wait."""

log = logging.getLogger(__name__)


def join(
    settings: EdgeSettings,
    cache: Cache | None,
    packs: Callable[[], Sequence[str]],
    ota: Ota | None = None,
) -> Sync | None:
    """The line of this box, not started yet.

    Args:
        settings: What the box was told.
        cache: Where the cloud's renditions go.
        packs: Gives ``name@version`` of the packs at hand.
        ota: Takes packs that come over the line.

    Returns:
        The line; None for a box that never enrolled, or shall not connect. A damaged
        membership is logged: the box speaks all the same.
    """
    if not settings.sync.enabled:
        return None
    try:
        membership = load_membership(settings.data)
    except YaoheError as error:
        log.error("the membership is damaged; enrol again: %s", error.message)
        return None
    if membership is None:
        return None
    shelf = Shelf(cache, settings.cache.budget_bytes) if cache else None
    return Sync(
        membership,
        settings.sync,
        settings.data,
        shelf,
        ota=ota,
        packs=packs,
        own_words=LexiconFile(settings.lexicon) if settings.lexicon else None,
        cloud=settings.cloud.url,
    )


def spoken(request: SpeechRequest, speech: Speech, lexicon: str) -> Spoken | None:
    """What the cloud shall hear of an utterance.

    Args:
        request: What was asked for.
        speech: What was spoken.
        lexicon: Digest of the store lexicon, hex; empty without one.

    Returns:
        The phrase; None for speed, pitch or volume of its own, and for a long text of
        the cloud's: nobody renders those in advance.
    """
    if (request.speed, request.pitch, request.volume) != (1.0, 0.0, 0.0):
        return None
    reading = speech.receipt.reading
    symbols = reading.symbols
    if not symbols:
        # The cloud keeps the symbols of what it speaks to itself.
        if len(request.input) > MAX_READ_AGAIN:
            return None
        symbols = read(request.input, reading.dialect).symbols
    key = phrase_key(symbols, voice=request.voice, dialect=reading.dialect)
    return Spoken(
        key, request.input, request.voice, reading.dialect, RULES_VERSION, lexicon
    )
