"""Packs that are loaded, each once, and where those lie that dialect packs stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

from common.voice.pack import Pack, load_pack, pack_of
from common.voice.runtime import DEFAULT_THREADS
from common.voice.speak import Speaker

Find = Callable[[str], "Path | None"]
"""The folder of the pack with a digest; None where there is none."""


def among(folders: Iterable[Path]) -> Find:
    """Look for packs in some folders.

    Args:
        folders: Folders of packs; some may be missing.

    Returns:
        Finds one of them by its digest.
    """
    known = tuple(folders)
    return lambda digest: next((at for at in known if pack_of(at) == digest), None)


class Bases:
    """Loads packs, so that a dialect pack shares the networks of what it stands on."""

    def __init__(self, find: Find, *, threads: int = DEFAULT_THREADS) -> None:
        """Remember where packs lie.

        Args:
            find: Finds a pack; whoever pins its digest vouches for it.
            threads: Threads inside one synthesis.
        """
        self._find = find
        self._threads = threads
        # A pack that nobody speaks with any more gives its memory back.
        self._loaded: WeakValueDictionary[str, Speaker] = WeakValueDictionary()

    def speaker(self, pack: Pack) -> Speaker:
        """Load a checked pack, unless it is loaded.

        Args:
            pack: The pack.

        Returns:
            Its voices.

        Raises:
            YaoheError: ``pack_invalid`` where it cannot be loaded, or what it stands on
                is not here.
        """
        loaded = self._loaded.get(pack.sha256)
        if loaded is None:
            base = self._base(pack.base) if pack.base else None
            loaded = Speaker(pack, base=base, threads=self._threads)
            self._loaded[pack.sha256] = loaded
        return loaded

    def _base(self, digest: str) -> Speaker | None:
        loaded = self._loaded.get(digest)
        if loaded is not None:
            return loaded
        folder = self._find(digest)
        if folder is None:
            return None
        pack = load_pack(folder, trusted=True)
        # What stands on something else is no base, and must not be looked for.
        return self.speaker(pack) if pack.base is None else None
