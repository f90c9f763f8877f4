"""What the line carries for other rooms of the box, which it does not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from common.protocol.repair import Need
from common.trust.updater import Trusted


class Ota(Protocol):
    """Packs over the air.

    Attributes:
        wake: Call it when there is something to ask; set by the line.
    """

    wake: Callable[[], None]

    async def take_job(self, scope: str, envelope: bytes) -> None:
        """Take a signed job; it comes again with every connection.

        Args:
            scope: The scope it was sent to.
            envelope: Its bytes, not verified yet.

        Raises:
            YaoheError: It is refused.
        """

    async def take_chunk(self, digest: str, index: int, chunk: bytes) -> bool:
        """Take a chunk, if it is of a blob that is wanted here.

        Returns:
            Whether it was.
        """

    async def questions(self) -> Sequence[Need]:
        """What to ask the cloud now; asked often, answers little."""

    async def trust_changed(self, trusted: Trusted) -> None:
        """Hear what is trusted now."""
