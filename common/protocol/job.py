"""A signed job: which packs the boxes of a scope shall have.

A job names packs; it cannot bring one. What it names must stand among the targets that
the chain's offline keys signed, with the same digest. The newest job of a scope is the
wish as it stands: the same job again, or a pack that is there already, is no news.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from common.protocol.manifest import MAX_MANIFEST_BYTES, Sha256
from common.protocol.repair import Scope
from common.protocol.reports import Counter, Name, Report

MAX_OFFERS = 32
MAX_TARGET_CHARACTERS = 400

TargetPath = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_TARGET_CHARACTERS)
]


class Offer(BaseModel):
    """A pack that is wanted.

    Attributes:
        path: The target's path, ``packs/{name}/{version}/manifest.json``.
        sha256: Digest of its manifest's bytes, as the targets have it.
        size: Length of its manifest in bytes.
        attempt: Raised by a person to have a pack tried again that failed.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    path: TargetPath
    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=MAX_MANIFEST_BYTES)]
    attempt: Counter = 0


class PackJob(Report):
    """The packs of a scope.

    Attributes:
        chain: The chain it is for.
        scope: The scope it is for.
        issued: When it was signed, seconds since 1970.
        targets: Version of the targets metadata that names all of its packs.
        packs: The packs.
    """

    MAX_BYTES: ClassVar[int] = 64 * 1024

    chain: Name
    scope: Scope
    issued: Counter
    targets: Counter
    packs: Annotated[list[Offer], Field(max_length=MAX_OFFERS)]
