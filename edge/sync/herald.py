"""What a box says of itself: births, wills and its health."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Mapping, Sequence

from common.mqtt import Farewell
from common.protocol import reports, topics
from common.protocol.reports import Birth, State
from common.version import VERSION
from edge.sync.state import Lack

BOOT_BYTES = 8


class Herald:
    """Writes a box's messages about itself."""

    def __init__(self, chain: str, box: str) -> None:
        """Begin a boot.

        Args:
            chain: The box's chain.
            box: Its name.
        """
        self._chain = chain
        self._box = box
        self._boot = secrets.token_hex(BOOT_BYTES)
        self._session = 0

    async def farewell(self) -> Farewell:
        """Birth and will of the next connection."""
        self._session += 1
        born, gone = (
            Birth(
                up=up,
                boot=self._boot,
                session=self._session,
                software=VERSION,
                machine=platform.machine(),
            )
            for up in (True, False)
        )
        topic = topics.Birth(self._chain, self._box)
        return Farewell(str(topic), reports.encode(born), reports.encode(gone))

    def state(
        self,
        *,
        at_s: float,
        is_clock_suspect: bool,
        packs: Sequence[str],
        phrases: int,
        catalogue: Mapping[str, int],
        events: tuple[int, int],
        lack: Lack,
    ) -> tuple[str, bytes]:
        """The message about its health.

        Args:
            at_s: Now, seconds since 1970.
            is_clock_suspect: Whether the clock is clearly wrong.
            packs: ``name@version`` of the packs at hand.
            phrases: Phrases of the catalogue at hand.
            catalogue: Newest change by scope.
            events: Events that wait, and events that were given up.
            lack: Phrases that are not at hand.

        Returns:
            Topic and content.
        """
        waiting, dropped = events
        state = State(
            boot=self._boot,
            at=int(at_s),
            clock_suspect=is_clock_suspect,
            packs=list(packs)[: reports.MAX_PACKS],
            phrases=phrases,
            catalogue=dict(catalogue),
            waiting=waiting,
            dropped=dropped,
            lacking=lack.phrases,
            lacking_why=lack.why,
        )
        return str(topics.State(self._chain, self._box)), reports.encode(state)
