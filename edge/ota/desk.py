"""Jobs that come over the line: checked against what is trusted, then offered.

Rules of this module:

* A job counts when the chain's phrases key signed it for this chain and this scope; a
  pack counts when the offline keys signed it too. Neither alone brings a voice.
* A job may come before the metadata that names its packs: it waits for them. Once
  metadata of that version is trusted and does not name them, they are refused.
* A job that comes again, ten times or from the broker's memory, changes nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from common.errors import YaoheError
from common.protocol import reports
from common.protocol.job import Offer, PackJob
from common.protocol.repair import Need
from common.trust.envelope import open_envelope
from common.trust.roles import JOB_TYPE
from common.trust.updater import Trusted
from edge.ota.refusal import Refused
from edge.ota.service import Ota
from edge.ota.updater import Candidate

MAX_JOBS = 64
"""Scopes whose newest job is kept until its packs are trusted."""
_PATH = re.compile(
    r"packs/([A-Za-z0-9._-]{1,64})/([A-Za-z0-9.+-]{1,64})/manifest\.json"
)

log = logging.getLogger(__name__)


class OtaDesk:
    """Jobs of one box's chain.

    Attributes:
        refusals: Why packs of the newest jobs are refused, by their path.
    """

    def __init__(self, chain: str, ota: Ota) -> None:
        """Put the parts together.

        Args:
            chain: The box's chain.
            ota: Brings packs to the box.
        """
        self.refusals: dict[str, Refused] = {}
        self._chain = chain
        self._ota = ota
        self._trusted: Trusted | None = None
        self._waiting: dict[str, bytes] = {}

    @property
    def wake(self) -> Callable[[], None]:
        """Called when there is something to ask."""
        return self._ota.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self._ota.wake = wake

    async def take_job(self, scope: str, envelope: bytes) -> None:
        """Take a signed job.

        Args:
            scope: The scope it was sent to.
            envelope: Its bytes; none when there is no job any more.

        Raises:
            YaoheError: It is not signed as it must be, or for another place.
            DatabaseGone: It cannot be noted now.
        """
        self._waiting.pop(scope, None)
        if not envelope:
            return
        if self._trusted is None:
            self._wait(scope, envelope)
            return
        payload = open_envelope(envelope, JOB_TYPE, self._trusted.phrases)
        job = reports.decode(PackJob, payload)
        if (job.chain, job.scope) != (self._chain, scope):
            raise YaoheError("pack_invalid", "a job for another place")
        for offer in job.packs:
            await self._offer(scope, envelope, offer, job, self._trusted)

    async def trust_changed(self, trusted: Trusted) -> None:
        """Try the jobs again that waited for what is trusted now.

        Args:
            trusted: What is trusted now.
        """
        self._trusted = trusted
        for scope, envelope in list(self._waiting.items()):
            try:
                await self.take_job(scope, envelope)
            except YaoheError as error:
                log.warning("a job of %s is refused: %s", scope, error.message)

    async def take_chunk(self, digest: str, index: int, chunk: bytes) -> bool:
        """Take a chunk; tells whether its blob is one of a pack's."""
        return await self._ota.take_chunk(digest, index, chunk)

    async def questions(self) -> list[Need]:
        """What to ask the cloud for now."""
        need = self._ota.question()
        return [need] if need else []

    async def _offer(
        self, scope: str, envelope: bytes, offer: Offer, job: PackJob, trusted: Trusted
    ) -> None:
        target = trusted.targets.get(offer.path)
        if target is None and trusted.versions["targets"] < job.targets:
            self._wait(scope, envelope)
            return
        try:
            path = _PATH.fullmatch(offer.path)
            if target is None or path is None or target.sha256 != offer.sha256:
                raise Refused(
                    "not_signed", f"{offer.path} is not what the chain's keys signed"
                )
            await self._ota.offer(
                Candidate(target.sha256, target.size, path[1], path[2], offer.attempt)
            )
            self.refusals.pop(offer.path, None)
        except Refused as refusal:
            if offer.path not in self.refusals:
                log.error("%s is refused: %s", offer.path, refusal.message)
            self.refusals[offer.path] = refusal

    def _wait(self, scope: str, envelope: bytes) -> None:
        if scope in self._waiting or len(self._waiting) < MAX_JOBS:
            self._waiting[scope] = envelope
