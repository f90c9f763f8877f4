"""One update from its offer to its end; each step can be killed and done again.

    offered    its manifest is trusted, and not yet here
    admitted   it fits this box, what it stands on is here, its room is reserved
    receiving  its files are coming
    verified   every file is here and is what the signed manifest says
    staged     its folder is complete
    trial      it is being loaded and heard, twice at most
    committed  it speaks          rolled_back  it does not, and the reason is kept

Rules of this module:

* What came from outside is refused with a reason; what this machine lacks (room, a
  working disk) refuses nothing: the same step is done again later.
* A pack that failed is not tried again until a person asks for another attempt.
* A version below one that was in use here is refused, however well it is signed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from common.errors import YaoheError
from common.protocol.manifest import Manifest, pack_digest, parse_manifest
from common.protocol.version import parse_version
from common.voice.bases import Bases
from common.voice.pack import load_pack
from edge.ota.depot import Depot
from edge.ota.download import Part
from edge.ota.ledger import FINAL, Ledger, Update
from edge.ota.refusal import NoBase, NoRoom, Refused
from edge.ota.standing import Standing
from edge.packs import LoadedPack

MAX_TRIALS = 2
"""Trials begun; a pack that took the process down so often is refused."""

TryOut = Callable[[Path, Bases], LoadedPack]
"""Loads a pack and hears it; see :func:`edge.ota.trial.try_out`."""

log = logging.getLogger(__name__)


class Candidate(NamedTuple):
    """A pack that somebody vouches for.

    Attributes:
        manifest: SHA-256 of its manifest's bytes, hex.
        size: Length of its manifest in bytes.
        name: Its name.
        version: Its version.
        attempt: How often a person asked for it.
    """

    manifest: str
    size: int
    name: str
    version: str
    attempt: int = 0


class Updater:
    """Brings packs to this box. Its methods block, and belong to one thread at a time.

    Attributes:
        ledger: What is known of packs.
        depot: Their files.
        bases: Loads packs, and what dialect packs stand on.
    """

    def __init__(
        self,
        ledger: Ledger,
        depot: Depot,
        try_out: TryOut,
        own: Sequence[Path] = (),
    ) -> None:
        """Put the parts together.

        Args:
            ledger: What is known of packs.
            depot: Their files.
            try_out: Loads a pack and hears it.
            own: Packs of the box that did not come this way.
        """
        self.ledger = ledger
        self.depot = depot
        self._standing = Standing(ledger, depot, own)
        self.bases = Bases(self._standing.find)
        self._try_out = try_out

    def offer(self, candidate: Candidate, *, by_hand: bool = False) -> Update | None:
        """Take an offer.

        Args:
            candidate: A pack whose origin is checked.
            by_hand: A person asks for it here and now, so that a failure of before
                does not count.

        Returns:
            The update that is now on its way; None when there is nothing to do.

        Raises:
            Refused: It failed before, or a newer version was in use here.
        """
        known = self.ledger.find(candidate.manifest)
        if known is not None and known.state not in FINAL:
            return known
        if known is not None and known.state == "committed":
            if any(slot.current == known.manifest for slot in self.ledger.slots()):
                return None
            if not by_hand:
                # It spoke, and was followed by another: an old wish that came again.
                return None
        elif known is not None and not by_hand and candidate.attempt <= known.attempt:
            raise Refused("blocked", f"{known.label} failed before: {known.detail}")
        self._check_version(candidate)
        attempt = max(candidate.attempt, known.attempt + 1 if known else 0)
        if not by_hand:
            attempt = candidate.attempt
        self.ledger.offer(*candidate[:4], attempt)
        return self.ledger.find(candidate.manifest)

    def admit(self, update: Update) -> dict[str, int]:
        """Read the manifest, which is here, and reserve the room.

        Args:
            update: The update.

        Returns:
            Size of each blob that is missing, by its SHA-256.

        Raises:
            Refused: It does not fit this box.
            NoRoom: The disk cannot hold it now.
            NoBase: What it stands on may be on its way.
            OSError: The disk refuses.
        """
        content = self.depot.blob(update.manifest).read_bytes()
        try:
            manifest, pack = parse_manifest(content), pack_digest(content)
        except YaoheError as error:
            raise Refused("unfit", error.message) from None
        if (manifest.name, manifest.version) != (update.name, update.version):
            raise Refused(
                "unfit", f"the manifest of {update.label} is of {manifest.label}"
            )
        failed = self.ledger.blocked(pack)
        if failed is not None and failed.attempt >= update.attempt:
            raise Refused("blocked", f"{failed.label} failed before: {failed.detail}")
        base = manifest.requires.acoustic if manifest.requires else None
        if base is not None and self._standing.find(base) is None:
            self._miss(update, base)
        missing = self.missing(manifest)
        needed = sum(missing.values())
        if (free := self.depot.free_bytes()) < needed:
            refusal = NoRoom(needed, free)
            self.ledger.note(update.manifest, refusal.message)
            raise refusal
        for sha256, size in missing.items():
            self.open_part(sha256, size).close()
        if update.state in ("offered", "admitted"):
            self.ledger.move(update.manifest, "admitted", pack=pack)
        return missing

    def missing(self, manifest: Manifest) -> dict[str, int]:
        """Size of each blob of a pack that is not here, by its SHA-256."""
        files = {file.sha256: file.size for file in manifest.files.values()}
        return {
            sha256: size
            for sha256, size in files.items()
            if not self.depot.has(sha256, size)
        }

    def manifest(self, update: Update) -> Manifest:
        """The manifest of an update; it is here and was read before."""
        return parse_manifest(self.depot.blob(update.manifest).read_bytes())

    def open_part(self, sha256: str, size: int) -> Part:
        """Open a blob to receive it, with what is there of it.

        Raises:
            OSError: The disk is full or refuses.
        """
        return self.depot.part(sha256, size, self.ledger.hints(sha256))

    def adopt(self, part: Part) -> bool:
        """Make a blob that is complete one of ours, if it is right.

        Args:
            part: The blob.

        Returns:
            Whether it is right; otherwise its chunks are forgotten.
        """
        is_right = self.depot.adopt(part)
        self.ledger.keep_hints(part.sha256, b"")
        return is_right

    def finish(self, update: Update) -> LoadedPack:
        """Bring an update whose files are all here to its end.

        Args:
            update: The update.

        Returns:
            The pack, which speaks from now on.

        Raises:
            Refused: It does not speak as it should; that is remembered.
            OSError: The disk refuses.
        """
        manifest = self.manifest(update)
        if update.state in ("admitted", "receiving", "verified"):
            self.ledger.move(update.manifest, "verified")
            files = {path: file.sha256 for path, file in manifest.files.items()}
            self.depot.build(update.manifest, files)
        if update.state not in ("trial", "committed"):
            self._stage(update)
        if update.boots >= MAX_TRIALS:
            raise Refused(
                "trial_crashed", f"{update.label} ended {update.boots} trials unheard"
            )
        self.ledger.begin_trial(update.manifest)
        loaded = self._hear(update)
        pairs = [(v, d) for v in manifest.voices for d in manifest.dialects]
        self.ledger.commit(update, pairs)
        log.info("%s speaks from now on", update.label)
        self.tidy()
        return loaded

    def refuse(self, update: Update, refusal: Refused) -> None:
        """Remember that an update failed, and free its room.

        Args:
            update: The update.
            refusal: Why.
        """
        log.error("%s is refused: %s", update.label, refusal.message)
        self.ledger.roll_back(update.manifest, refusal.reason, refusal.message)
        self.tidy()

    def remove(self, label: str) -> Update:
        """Take a pack out of use; what spoke before it speaks again.

        Args:
            label: ``name@version``, or the name alone.

        Returns:
            The update that brought it.

        Raises:
            YaoheError: ``not_found``: no such pack is in use.
        """
        used = {slot.current for slot in self.ledger.slots()}
        for update in reversed(self.ledger.all()):
            if update.manifest in used and label in (update.name, update.label):
                self.ledger.roll_back(update.manifest, "removed", "a person removed it")
                self.tidy()
                return update
        raise YaoheError("not_found", f"no pack {label} is in use here")

    def tidy(self) -> None:
        """Delete what no slot and no update needs; a disk that refuses changes nothing.

        While anything is on its way nothing is deleted: its files have no owner yet.
        """
        if self.ledger.open():
            return
        keep = {m for slot in self.ledger.slots() for m in slot[2:] if m}
        keep |= self._standing.under(keep)
        try:
            self.depot.collect(keep)
        except OSError as error:
            log.warning("packs are not tidied up: %s", error)

    def _stage(self, update: Update) -> None:
        """Check the folder as a whole: it was complete, and is it still?"""
        try:
            load_pack(self.depot.tree(update.manifest), trusted=True)
        except YaoheError as error:
            raise Refused("unfit", error.message) from None
        self.ledger.move(update.manifest, "staged")

    def _hear(self, update: Update) -> LoadedPack:
        try:
            return self._try_out(self.depot.tree(update.manifest), self.bases)
        except Refused:
            raise
        except OSError:
            raise
        except Exception as error:
            # A pack's own graphs run here: whatever they raise is their failure.
            log.exception("the trial of %s failed", update.label)
            reason = f"{type(error).__name__}: {error}"
            raise Refused("trial_failed", reason) from None

    def _check_version(self, candidate: Candidate) -> None:
        highest = self.ledger.highest(candidate.name)
        if highest is None or highest[1] == candidate.manifest:
            return
        label = f"{candidate.name}@{candidate.version}"
        try:
            new, old = parse_version(candidate.version), parse_version(highest[0])
        except YaoheError as error:
            raise Refused("unfit", error.message) from None
        if new < old:
            raise Refused("older_version", f"{label}: {highest[0]} was in use here")
        if new == old:
            raise Refused("version_reused", f"{label} was another pack here")

    def _miss(self, update: Update, base: str) -> None:
        """Wait for what a pack stands on, or refuse the pack if nothing is coming.

        Raises:
            NoBase: Something else is on its way.
            Refused: Nothing is.
        """
        missing = f"{update.label} stands on pack {base[:12]}"
        if any(other.manifest != update.manifest for other in self.ledger.open()):
            self.ledger.note(update.manifest, f"{missing}, which may be on its way")
            raise NoBase(missing)
        raise Refused("base_missing", f"{missing}, which is not here")
