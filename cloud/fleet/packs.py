"""Packs for the fleet: their files as blobs, and signed jobs that ask for them.

Rules of this module:

* A pack is published only when the chain's offline keys signed its manifest; this
  machine chooses among such packs and cannot bring another.
* The files are checked against the manifest before a job names them.
* A scope has one job, its packs as they are wanted now; its newest version is what is
  published.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from securesystemslib.dsse import Envelope

from cloud.fleet.blobs import Blobs
from cloud.fleet.jobs import Jobs
from cloud.fleet.repository import Repository
from common.errors import YaoheError
from common.protocol import reports
from common.protocol.job import Offer, PackJob
from common.protocol.manifest import MANIFEST_NAME
from common.trust.roles import JOB_TYPE
from common.voice.pack import load_pack


class FleetPacks:
    """Packs that boxes may get, and jobs that say which boxes shall."""

    def __init__(
        self,
        jobs: Jobs,
        blobs: Blobs,
        repository: Repository,
        chain: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Put the parts together.

        Args:
            jobs: The newest job of each scope.
            blobs: Where files are kept.
            repository: What the offline keys signed, and the online key of jobs.
            chain: The chain's name.
            now: Seconds since 1970.
        """
        self._jobs = jobs
        self._blobs = blobs
        self._repository = repository
        self._chain = chain
        self._now = now

    def publish(self, directory: Path) -> Offer:
        """Take a signed pack's files in.

        Args:
            directory: The pack's folder.

        Returns:
            What a job says of it.

        Raises:
            YaoheError: ``pack_invalid``: it is damaged, or the offline keys did not
                sign it.
        """
        pack = load_pack(directory, trusted=True)
        content = (directory / MANIFEST_NAME).read_bytes()
        manifest = pack.manifest
        path = f"packs/{manifest.name}/{manifest.version}/{MANIFEST_NAME}"
        sha256 = self._blobs.keep(content)
        target = self._repository.targets().targets.get(path)
        if target is None or target.hashes.get("sha256") != sha256:
            raise YaoheError(
                "pack_invalid",
                f"{pack.label} is not among the chain's signed packs: sign it with "
                "`yaohe-distill sign` and take the new metadata up",
            )
        for name, file in manifest.files.items():
            if self._blobs.keep((directory / name).read_bytes()) != file.sha256:
                raise YaoheError("pack_invalid", f"{name} changed while it was read")
        return Offer(path=path, sha256=sha256, size=len(content))

    def want(self, scope: str, offer: Offer) -> None:
        """Let the boxes of a scope have a pack, instead of other versions of it.

        Args:
            scope: ``all`` or a group's scope.
            offer: What :meth:`publish` gave. Asked for again it is tried again where it
                failed.
        """
        known = {_name(each.path): each for each in self.wanted(scope)}
        name = _name(offer.path)
        before = known.get(name)
        if before is not None and before.sha256 == offer.sha256:
            offer = offer.model_copy(update={"attempt": before.attempt + 1})
        self._put(scope, [*({**known, name: offer}.values())])

    def unwant(self, scope: str, name: str) -> None:
        """Ask no box of a scope for a pack any more; boxes that have it keep it.

        Args:
            scope: The scope.
            name: The pack's name.
        """
        left = [each for each in self.wanted(scope) if _name(each.path) != name]
        self._put(scope, left)

    def wanted(self, scope: str) -> list[Offer]:
        """The packs of a scope's job."""
        envelope = self._jobs.all().get(scope)
        if envelope is None:
            return []
        # Our own signature, from our own database.
        payload = Envelope.from_dict(json.loads(envelope)).payload
        return reports.decode(PackJob, payload).packs

    def _put(self, scope: str, packs: list[Offer]) -> None:
        job = PackJob(
            chain=self._chain,
            scope=scope,
            issued=int(self._now()),
            targets=self._repository.targets().version,
            packs=packs,
        )
        payload = reports.encode(job)
        self._jobs.put(scope, self._repository.sign_envelope(payload, JOB_TYPE))


def _name(path: str) -> str:
    """The pack's name in a target's path."""
    return path.split("/")[1]
