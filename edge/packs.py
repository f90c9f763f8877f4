"""The voices a box has at hand, by voice and dialect.

Rules: one pack is active for each voice and dialect; the starter pack that came with
the software, and the dialect packs that stand on it, are always there, read-only, and
speak when nothing else can.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from common.audio.pcm import Pcm
from common.audio.provenance import AigcLabel, Provenance
from common.errors import YaoheError
from common.text import RULES_VERSION, Lexicon
from common.text.symbols import TABLE_VERSION, Symbol
from common.voice.bases import Bases, among
from common.voice.pack import dialect_directories, load_pack, starter_directory

if TYPE_CHECKING:
    from common.trust.envelope import Keyring
    from common.voice.speak import Speaker

ENGINE = "packed"
"""Name of the engine in provenances."""

log = logging.getLogger(__name__)


class Voice(Protocol):
    """What speaks symbols; :class:`common.voice.Speaker` does."""

    @property
    def voices(self) -> Sequence[str]:
        """Logical voices, the default first."""

    @property
    def dialects(self) -> Sequence[str]:
        """Dialects that all of them speak."""

    def speak(
        self,
        symbols: Sequence[Symbol],
        *,
        voice: str,
        dialect: str = "zh",
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 0.0,
    ) -> Iterator[Pcm]:
        """Speak, chunk by chunk."""


@dataclass(frozen=True, eq=False)
class LoadedPack:
    """A pack that is ready to speak.

    Attributes:
        name: ``name@version``.
        sha256: Digest of its manifest.
        quality: Rank, 0 to 100.
        is_verified: Whether its signature, or the wheel's, vouches for it.
        voice: What speaks.
        lexicon: Words that it has readings of its own for.
    """

    name: str
    sha256: str
    quality: int
    is_verified: bool
    voice: Voice
    lexicon: Lexicon = Lexicon()  # noqa: RUF009 - it is frozen

    @classmethod
    def of(cls, speaker: Speaker) -> LoadedPack:
        """A pack that something vouches for, loaded."""
        pack = speaker.pack
        return cls(
            *(pack.label, pack.sha256, pack.manifest.quality, True, speaker),
            speaker.lexicon,
        )

    def can(self, voice: str, dialect: str) -> bool:
        """Whether it speaks a dialect in a voice."""
        return voice in self.voice.voices and dialect in self.voice.dialects

    def provenance(self, label: AigcLabel) -> Provenance:
        """What a rendition by this pack carries.

        Args:
            label: The operator's AI-content label.

        Returns:
            Its provenance.
        """
        return Provenance(
            engine=ENGINE,
            pack=self.name,
            pack_sha256=self.sha256,
            verified=self.is_verified,
            table_version=TABLE_VERSION,
            rules_version=RULES_VERSION,
            label=label,
        )


class Packs:
    """The packs of a box.

    Attributes:
        starter: The pack that came with the software, if it could be loaded.
        dialects: The dialect packs that came with it.
        loaded: Every pack once, the preferred first.
        repertoire: Voices that can be asked for, and the dialects that each speaks.
    """

    def __init__(
        self,
        active: Sequence[LoadedPack],
        starter: LoadedPack | None,
        came: Mapping[tuple[str, str], LoadedPack] | None = None,
        dialects: Sequence[LoadedPack] = (),
    ) -> None:
        """Take the packs up.

        Args:
            active: Packs in use, the preferred first.
            starter: The pack that came with the software, if it could be loaded.
            came: Packs that were installed, by the voice and dialect they took over.
            dialects: The dialect packs that came with the software.
        """
        self._active = tuple(active)
        self._came = dict(came or {})
        self.starter = starter
        self.dialects = tuple(dialects)
        last = (*((starter,) if starter else ()), *self.dialects)
        self.loaded = tuple(dict.fromkeys((*self._came.values(), *active, *last)))
        self.repertoire: dict[str, tuple[str, ...]] = {}
        for pack in self.loaded:
            for voice in pack.voice.voices:
                spoken = (*self.repertoire.get(voice, ()), *pack.voice.dialects)
                self.repertoire[voice] = tuple(dict.fromkeys(spoken))

    def active(self, voice: str, dialect: str) -> LoadedPack | None:
        """The pack in use for a voice and dialect, if any can speak it."""
        came = self._came.get((voice, dialect))
        own = (*self._active, *self.dialects)
        return came or next((p for p in own if p.can(voice, dialect)), None)

    @property
    def lexicon(self) -> Lexicon:
        """All packs' own words; the preferred pack's win."""
        found = Lexicon()
        for pack in self.loaded:
            found = found.over(pack.lexicon)
        return found

    def last(self, dialect: str) -> LoadedPack | None:
        """The pack of the software's own that speaks a dialect, if there is one."""
        own = (*((self.starter,) if self.starter else ()), *self.dialects)
        found = next((p for p in own if dialect in p.voice.dialects), None)
        return found or self.starter

    def switched(self, came: Mapping[tuple[str, str], LoadedPack]) -> Packs:
        """The same packs of the box's own, with others that were installed.

        Args:
            came: Packs that are installed now, by voice and dialect.
        """
        return Packs(self._active, self.starter, came, self.dialects)


def load(
    directory: Path,
    bases: Bases,
    *,
    is_trusted: bool,
    keyring: Keyring | None = None,
) -> LoadedPack:
    """Check a pack, load its networks and speak a first time to nobody.

    Args:
        directory: The pack's folder.
        bases: Loads it, with what it stands on.
        is_trusted: Whether the caller vouches for it; otherwise it needs a signature.
        keyring: Whose signatures count; without it none does.

    Returns:
        The pack, ready to speak.

    Raises:
        YaoheError: ``pack_invalid`` with the reason.
    """
    pack = load_pack(directory, trusted=is_trusted, keyring=keyring)
    return LoadedPack.of(bases.speaker(pack))


def own_directories(active: Path | None = None) -> tuple[Path, ...]:
    """Packs that a box has without any that came to it.

    Args:
        active: The one that its settings name.

    Returns:
        Folders of packs with weights, the starter's last.
    """
    return (*((active,) if active else ()), starter_directory())


def load_starter(bases: Bases | None = None) -> LoadedPack:
    """The pack that came with the software; the wheel vouches for it.

    Args:
        bases: Loads it; by default nothing else is loaded.

    Raises:
        YaoheError: ``pack_invalid`` with the reason.
    """
    loader = bases or Bases(among(own_directories()))
    return load(starter_directory(), loader, is_trusted=True)


def load_dialects(bases: Bases) -> tuple[LoadedPack, ...]:
    """The dialect packs that came with the software; a bad one is passed over.

    Args:
        bases: Loads them, and the starter pack that they stand on.
    """
    packs: list[LoadedPack] = []
    for directory in dialect_directories():
        try:
            packs.append(load(directory, bases, is_trusted=True))
        except YaoheError as error:
            log.error("%s cannot be used: %s", directory.name, error.message)
    return tuple(packs)
