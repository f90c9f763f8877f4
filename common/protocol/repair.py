"""Asking for what is missing, and the answers to one box.

A box says what it has; the cloud sends the difference. Both may be lost or doubled:
a box asks again, and applying an answer twice changes nothing.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

from pydantic import BeforeValidator, Field

from common.protocol.catalogue import (
    BUCKET_DIGEST_BYTES,
    BUCKETS,
    MAX_LOG_ENTRIES,
    Counter,
    Digest,
    Log,
    WireEntry,
)
from common.protocol.cbor import Message

CHUNK_BYTES = 64 * 1024
"""Bytes of one chunk; only a blob's last is shorter."""
MAX_WANTED = 64
"""Blobs asked for at once."""
MAX_CHUNKS = 16_384
"""Of one blob: 1 GiB."""

MAX_SCOPE_CHARACTERS = 192
Scope = Annotated[str, Field(min_length=1, max_length=MAX_SCOPE_CHARACTERS)]
Index = Annotated[int, Field(ge=0, lt=MAX_CHUNKS)]
MAX_LIVES = 64
"""Lives of one acknowledgement."""
MAX_PEM_BYTES = 16 * 1024
Pem = Annotated[bytes, Field(max_length=MAX_PEM_BYTES)]
Life = Annotated[str, Field(pattern=r"\A[0-9a-f]{1,128}\z")]


class Wanted(NamedTuple):
    """Chunks of one blob; on the wire an array in this order.

    Attributes:
        sha256: The blob.
        first: First chunk that is missing.
        last: Last chunk that is missing; past the end means to the end.
    """

    sha256: Digest
    first: Index
    last: Index


class Heard(NamedTuple):
    """What the cloud has of one life's events; on the wire an array in this order.

    Attributes:
        life: The life, as events carry it.
        upto: It and every number before it have arrived, or were given up by the box.
    """

    life: Life
    upto: Counter


def _triple(value: object) -> object:
    return tuple(value[: len(Wanted._fields)]) if isinstance(value, list) else value


def _pair(value: object) -> object:
    return tuple(value[: len(Heard._fields)]) if isinstance(value, list) else value


class Need(Message):
    """What a box lacks; any part may be absent.

    Attributes:
        scope: The catalogue that ``since`` and ``buckets`` are about.
        epoch: The epoch the box is in.
        since: Changes after this one are wanted.
        buckets: Shortened digests of all buckets of what the box has; the cloud sends
            those that differ.
        blobs: Chunks that are wanted.
        request: Signing request for the box's next certificate, PEM. A cloud of the
            first release ignores it.
    """

    MAX_BYTES: ClassVar[int] = 32 * 1024

    scope: Scope | None = None
    epoch: Counter = 0
    since: Counter | None = None
    buckets: (
        Annotated[
            bytes,
            Field(
                min_length=BUCKETS * BUCKET_DIGEST_BYTES,
                max_length=BUCKETS * BUCKET_DIGEST_BYTES,
            ),
        ]
        | None
    ) = None
    blobs: Annotated[
        list[Annotated[Wanted, BeforeValidator(_triple)]],
        Field(max_length=MAX_WANTED),
    ] = Field(default_factory=list)
    request: Pem | None = None


class Reply(Message):
    """The cloud's answer to one box: changes, buckets, a certificate, what it heard.

    Version rule: ``heard`` and ``certificate`` came after the first release. An older
    box refuses a reply without ``scope`` and never waited for one; a newer box keeps
    its events until it hears of them, so a chain's cloud is updated before its boxes.

    Attributes:
        scope: The catalogue it is about; None where it is about none.
        log: An encoded :class:`~common.protocol.catalogue.Log`.
        epoch: The epoch the buckets are of.
        seq: The moment the buckets are of.
        numbers: Buckets whose whole content is in ``entries``.
        entries: All that is not deleted in those buckets.
        heard: Events that the cloud has on its disk.
        certificate: The box's next certificate, PEM.
    """

    MAX_BYTES: ClassVar[int] = 128 * 1024

    scope: Scope | None = None
    log: Annotated[bytes, Field(max_length=Log.MAX_BYTES)] | None = None
    epoch: Counter = 0
    seq: Counter = 0
    numbers: Annotated[
        list[Annotated[int, Field(ge=0, lt=BUCKETS)]],
        Field(max_length=BUCKETS),
    ] = Field(default_factory=list)
    entries: Annotated[
        list[WireEntry],
        Field(max_length=2 * MAX_LOG_ENTRIES),
    ] = Field(default_factory=list)
    heard: Annotated[
        list[Annotated[Heard, BeforeValidator(_pair)]],
        Field(max_length=MAX_LIVES),
    ] = Field(default_factory=list)
    certificate: Pem | None = None
