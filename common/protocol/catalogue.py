"""The catalogue of phrases: what the boxes of a scope should have.

The cloud writes one log for a scope. A signed :class:`Head` names its newest state; a
box applies :class:`Log` batches or a :class:`Snapshot` and accepts the result only if
its own :func:`root` is the head's. When it is not, :class:`Buckets` tell which of 256
parts differ. Sequence numbers order changes and are not part of the root, so that two
boxes with the same phrases agree whatever way they came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from common.phrase import KEY_BYTES
from common.protocol import topics
from common.protocol.cbor import Message, dumps
from common.protocol.manifest import MAX_QUALITY

BUCKETS = 256
"""An entry's bucket is the first byte of its key."""
BUCKET_DIGEST_BYTES = 8
"""Of each bucket's SHA-256, in messages; the root stands on all 32."""
SHA256_BYTES = 32
MAX_LOG_ENTRIES = 500
MAX_SNAPSHOT_ENTRIES = 20_000
MAX_RENDITION_BYTES = 4 * 1024 * 1024
MAX_COUNTER = 2**53 - 1
"""Of epochs, sequence numbers and seconds."""

Key = Annotated[bytes, Field(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Digest = Annotated[bytes, Field(min_length=SHA256_BYTES, max_length=SHA256_BYTES)]
Counter = Annotated[int, Field(ge=0, le=MAX_COUNTER)]


class Entry(NamedTuple):
    """One phrase of a catalogue; on the wire an array in this order.

    Attributes:
        key: The phrase key.
        sha256: Digest of the rendition's blob; zeros when deleted.
        size: Bytes of the blob.
        quality: Rank of the rendition.
        seq: The change that made the entry what it is.
        deleted: Whether the phrase is gone.
    """

    key: Key
    sha256: Digest
    size: Annotated[int, Field(ge=0, le=MAX_RENDITION_BYTES)]
    quality: Annotated[int, Field(ge=0, le=MAX_QUALITY)]
    seq: Counter
    deleted: bool


def _known_part(value: Any) -> Any:
    """An array as an entry, places that nobody knows left out."""
    return tuple(value[: len(Entry._fields)]) if isinstance(value, list) else value


WireEntry = Annotated[Entry, BeforeValidator(_known_part)]


class Head(Message):
    """The newest state of a catalogue; travels inside a signed envelope.

    Attributes:
        chain: Whose it is.
        scope: Which boxes it is for, as in topics.
        epoch: Changes only when the log was rebuilt from nothing.
        seq: The newest change.
        floor: Oldest change that the log can still start from.
        count: Phrases that are not deleted.
        root: Digest of those; see :func:`root`.
        snapshot: SHA-256 of the encoded :class:`Snapshot` at ``seq``.
        issued: When it was signed, seconds since 1970; feeds the box's time floor.
    """

    MAX_BYTES: ClassVar[int] = 1024

    chain: str
    scope: str
    epoch: Counter
    seq: Counter
    floor: Counter
    count: Counter
    root: Digest
    snapshot: Digest
    issued: Counter

    @model_validator(mode="after")
    def _addressed(self) -> Head:
        """Refuse a chain or scope that has no topic."""
        str(topics.Head(self.chain, self.scope))
        return self


class Log(Message):
    """A batch of changes in order.

    Attributes:
        epoch: The log's epoch.
        first: Sequence number before the batch; a box at or past it may apply.
        last: Sequence number after it.
        entries: The changes.
    """

    MAX_BYTES: ClassVar[int] = 64 * 1024

    epoch: Counter
    first: Counter
    last: Counter
    entries: Annotated[list[WireEntry], Field(max_length=MAX_LOG_ENTRIES)]


class Snapshot(Message):
    """All that is not deleted, at one moment.

    Attributes:
        epoch: The log's epoch.
        seq: The moment.
        entries: Sorted by key.
    """

    MAX_BYTES: ClassVar[int] = 2 * 1024 * 1024

    epoch: Counter
    seq: Counter
    entries: Annotated[list[WireEntry], Field(max_length=MAX_SNAPSHOT_ENTRIES)]


class Buckets(Message):
    """Digests of all buckets, to find what differs.

    Attributes:
        epoch: The log's epoch.
        seq: The moment.
        digests: ``BUCKETS`` times ``BUCKET_DIGEST_BYTES`` bytes.
    """

    MAX_BYTES: ClassVar[int] = 4096

    epoch: Counter
    seq: Counter
    digests: Annotated[
        bytes,
        Field(
            min_length=BUCKETS * BUCKET_DIGEST_BYTES,
            max_length=BUCKETS * BUCKET_DIGEST_BYTES,
        ),
    ]


def bucket_digests(entries: Iterable[Entry]) -> list[bytes]:
    """Digest a catalogue in 256 parts.

    Args:
        entries: In any order, one for each key; deleted ones do not count.

    Returns:
        ``BUCKETS`` SHA-256 digests, each over the bucket's entries sorted by key, an
        entry being the CBOR array of key, blob digest, size and quality.
    """
    parts = [hashlib.sha256() for _ in range(BUCKETS)]
    for entry in sorted(entries, key=lambda entry: entry.key):
        if not entry.deleted:
            form = [entry.key, entry.sha256, entry.size, entry.quality]
            parts[entry.key[0]].update(dumps(form))
    return [part.digest() for part in parts]


def root(digests: Iterable[bytes]) -> bytes:
    """Digest a whole catalogue.

    Args:
        digests: What :func:`bucket_digests` gave.

    Returns:
        SHA-256 of all of them in order.
    """
    return hashlib.sha256(b"".join(digests)).digest()


def shortened(digests: Iterable[bytes]) -> bytes:
    """Cut bucket digests to what :class:`Buckets` carries."""
    return b"".join(digest[:BUCKET_DIGEST_BYTES] for digest in digests)


def differing(ours: bytes, theirs: bytes) -> list[int]:
    """Compare two catalogues by their shortened digests.

    Args:
        ours: ``BUCKETS`` times ``BUCKET_DIGEST_BYTES`` bytes.
        theirs: The same of the other side.

    Returns:
        Numbers of the buckets that differ.
    """
    size = BUCKET_DIGEST_BYTES
    return [
        bucket
        for bucket in range(BUCKETS)
        if ours[bucket * size :][:size] != theirs[bucket * size :][:size]
    ]
