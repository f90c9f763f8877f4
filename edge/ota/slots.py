"""The packs that speak now: loaded from their folders, the one before if one is bad."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

from common.errors import YaoheError
from common.protocol.manifest import MANIFEST_NAME
from common.voice.bases import Bases
from edge.ota.depot import Depot
from edge.ota.ledger import Ledger
from edge.packs import LoadedPack, load

Speaking = Mapping[tuple[str, str], LoadedPack]
"""The pack in use for each voice and dialect."""

log = logging.getLogger(__name__)


class Slots:
    """The packs that came to this box and are in use.

    Attributes:
        refusals: Why packs in use could not be loaded, by manifest.
    """

    def __init__(self, ledger: Ledger, depot: Depot, bases: Bases) -> None:
        """Remember where packs lie; nothing is loaded yet.

        Args:
            ledger: What is known of packs.
            depot: Their files.
            bases: Loads them.
        """
        self.refusals: dict[str, str] = {}
        self._ledger = ledger
        self._depot = depot
        self._bases = bases
        self._loaded: dict[str, LoadedPack] = {}

    def take(self, manifest: str, pack: LoadedPack) -> None:
        """Take a pack that its trial has loaded already."""
        self._loaded[manifest] = pack

    def load(self) -> Speaking:
        """Load what is in use and not loaded yet; blocks.

        Returns:
            The pack for each voice and dialect. One that cannot be loaded gives way to
            the one before it.
        """
        speaking: dict[tuple[str, str], LoadedPack] = {}
        used: dict[str, LoadedPack] = {}
        self.refusals.clear()
        for slot in self._ledger.slots():
            for manifest in (slot.current, slot.previous):
                pack = self._pack(manifest)
                if pack is not None:
                    used[manifest] = pack
                    speaking[(slot.voice, slot.dialect)] = pack
                    break
        # What nobody uses any more gives its memory back.
        self._loaded = used
        return speaking

    def _pack(self, manifest: str) -> LoadedPack | None:
        if not manifest or manifest in self.refusals:
            return None
        if manifest in self._loaded:
            return self._loaded[manifest]
        folder = self._depot.tree(manifest)
        try:
            content = (folder / MANIFEST_NAME).read_bytes()
            if hashlib.sha256(content).hexdigest() != manifest:
                raise YaoheError("pack_invalid", "its manifest was changed")
            # Its origin was checked when it came, and the ledger names its digest.
            self._loaded[manifest] = load(folder, self._bases, is_trusted=True)
        except (YaoheError, OSError) as error:
            log.error("pack %s cannot be used: %s", manifest[:12], error)
            self.refusals[manifest] = str(error)
            return None
        return self._loaded[manifest]
