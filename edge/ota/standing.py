"""What dialect packs stand on: packs with weights that are here and may speak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from common.errors import YaoheError
from common.protocol.manifest import MANIFEST_NAME, parse_manifest
from common.voice.bases import among
from edge.ota.depot import Depot
from edge.ota.ledger import Ledger


class Standing:
    """Finds packs by the digest that a dialect pack pins.

    The pin itself vouches: it stands in a signed manifest, and names every byte.
    """

    def __init__(self, ledger: Ledger, depot: Depot, own: Sequence[Path]) -> None:
        """Remember where packs lie.

        Args:
            ledger: What is known of packs that came.
            depot: Their files.
            own: Packs of the box that did not come this way.
        """
        self._ledger = ledger
        self._depot = depot
        self._own = among(own)

    def find(self, pack: str) -> Path | None:
        """Find a pack that another one may stand on.

        Args:
            pack: Its digest.

        Returns:
            Its folder; None where it is not here, or was taken out of use.
        """
        manifest = self._came(pack)
        return self._own(pack) or (self._depot.tree(manifest) if manifest else None)

    def under(self, manifests: Iterable[str]) -> set[str]:
        """What packs stand on, as far as it came the way that they did.

        Args:
            manifests: Packs, by their manifests' SHA-256.

        Returns:
            Likewise.
        """
        return {base for each in manifests if (base := self._base_of(each))}

    def _base_of(self, manifest: str) -> str | None:
        try:
            content = (self._depot.tree(manifest) / MANIFEST_NAME).read_bytes()
            requires = parse_manifest(content).requires
        except (OSError, YaoheError):
            return None
        return self._came(requires.acoustic) if requires else None

    def _came(self, pack: str) -> str | None:
        """Manifest of a pack that came this way and spoke here."""
        for update in self._ledger.all():
            is_here = self._depot.tree(update.manifest).is_dir()
            if update.pack == pack and update.state == "committed" and is_here:
                return update.manifest
        return None
