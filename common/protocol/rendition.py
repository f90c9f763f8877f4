"""A rendition on its way to a box: one blob of a catalogue.

The catalogue's signed root stands on the blob's digest, so whoever brings the bytes,
what they say about themselves is signed.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from common.protocol.catalogue import MAX_RENDITION_BYTES, Key
from common.protocol.cbor import Message
from common.protocol.manifest import MAX_QUALITY

MAX_TEXT_CHARACTERS = 4096
MAX_DURATION_MS = 600_000

Label = Annotated[str, StringConstraints(max_length=128)]
Hex = Annotated[str, StringConstraints(pattern=r"\A([0-9a-f]{64})?\z")]
Whole = Annotated[int, Field(ge=0, le=2**32 - 1)]


class SentRendition(Message):
    """One recording of a phrase.

    Attributes:
        key: The phrase key.
        text: The input it was made for.
        voice: Logical voice.
        dialect: ``zh``, ``gd`` or ``sc``.
        engine: Name of the engine.
        pack: ``name@version``; empty for an engine without packs.
        pack_sha256: Digest of the pack's manifest, hex; empty without one.
        seed: The seed, for an engine that has one.
        table_version: Version of the symbol table.
        rules_version: Version of the text rules.
        quality: Rank, 0 to 100.
        symbols_sha256: Digest of the symbols, hex.
        lexicon_sha256: Digest of the lexicon that decided some of the reading, the
            chain's or the store's, hex; empty where none did.
        enforced: Whether the engine spoke our symbols.
        duration_ms: Length of the sound.
        render_ms: What it cost to make.
        master: Bytes of the Opus master, with the AI-content label inside.
    """

    MAX_BYTES: ClassVar[int] = MAX_RENDITION_BYTES

    key: Key
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARACTERS)]
    voice: Label
    dialect: Label
    engine: Label
    pack: Label = ""
    pack_sha256: Hex = ""
    seed: Whole | None = None
    table_version: Whole = 0
    rules_version: Whole = 0
    quality: Annotated[int, Field(ge=0, le=MAX_QUALITY)] = 0
    symbols_sha256: Hex = ""
    lexicon_sha256: Hex = ""
    enforced: bool
    duration_ms: Annotated[int, Field(ge=1, le=MAX_DURATION_MS)]
    render_ms: Whole = 0
    master: Annotated[bytes, Field(min_length=1)]
