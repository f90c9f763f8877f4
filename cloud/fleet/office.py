"""The fleet's office: all that is kept about a chain, in one folder.

The service and the command line open the same office; whoever changes who is enrolled
also rewrites the broker's rules.

The folder (``fleet`` among the cloud's data)::

    fleet.db   claims, boxes, events, the catalogue's log
    ca/        the chain's certificate authority
    broker/    Mosquitto's configuration, its certificate and its own data
    trust/     signed metadata, and the online keys
    blobs/     renditions, snapshots and files of packs, by digest
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cloud.fleet.authority import CLOUD, Authority
from cloud.fleet.blobs import Blobs
from cloud.fleet.boxes import Boxes
from cloud.fleet.broker import Broker
from cloud.fleet.catalogue import Catalogue
from cloud.fleet.db import FleetDb
from cloud.fleet.events import Events
from cloud.fleet.jobs import Jobs
from cloud.fleet.repository import Repository
from cloud.fleet.settings import FleetSettings
from common.files import PRIVATE, make_directory, write_atomic
from common.mqtt import LinkOptions
from common.protocol.reports import EnrolAnswer, EnrolRequest
from common.trust.tls import client_context

PRIVATE_FOLDER = 0o700


class Office:
    """The parts of one chain.

    Attributes:
        folder: Where all of it lies.
        settings: Names and limits.
        db: The fleet's database.
        blobs: Bytes by digest.
        repository: Signed metadata.
        catalogue: What phrases boxes should have.
        events: What boxes reported.
        jobs: What boxes are told to have.
        boxes: Who the boxes are.
        broker: The broker's configuration.
    """

    def __init__(
        self,
        data: Path,
        settings: FleetSettings,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the office; what is missing is made.

        Args:
            data: The cloud's data folder.
            settings: Names and limits.
            now: Seconds since 1970.
        """
        # The broker reads absolute paths from its configuration.
        self.folder = (data / "fleet").absolute()
        self.settings = settings
        make_directory(self.folder)
        self.folder.chmod(PRIVATE_FOLDER)
        make_directory(self.folder / "ca")
        self._authority = Authority.open(self.folder / "ca", settings.chain)
        self.db = FleetDb(self.folder / "fleet.db")
        self.blobs = Blobs(self.folder / "blobs")
        self.repository = Repository(self.folder / "trust")
        self.broker = Broker(self.folder / "broker", self._authority, settings)
        self.catalogue = Catalogue(
            self.db, self.blobs, self.repository, settings.chain, now
        )
        self.events = Events(self.db, now)
        self.jobs = Jobs(self.db)
        self.boxes = Boxes(
            self.db, self._authority, settings, root=self.repository.root, now=now
        )

    def prepare_broker(self) -> Path:
        """Write the broker's configuration from who is enrolled.

        Returns:
            The file to start Mosquitto with.
        """
        self.broker.write(self.boxes.members(), self.boxes.revoked())
        return self.broker.config

    def enrol(self, request: EnrolRequest) -> EnrolAnswer:
        """Make a box one of the chain, and let the broker know.

        Args:
            request: What the box asks.

        Returns:
            What it needs.

        Raises:
            YaoheError: ``unauthorized``, ``invalid_request`` or ``not_ready``.
        """
        # Without a root to hand out, the claim must stay good.
        self.repository.root()
        answer = self.boxes.enrol(request)
        self.prepare_broker()
        return answer

    def link_options(self) -> LinkOptions:
        """How the cloud itself reaches the broker."""
        folder = self.folder / "ca"
        certificate, key = folder / "cloud.crt", folder / "cloud.key"
        if not certificate.exists():
            identity = self._authority.issue_client(CLOUD)
            write_atomic(key, identity.key, mode=PRIVATE)
            write_atomic(certificate, identity.certificate)
        return LinkOptions(
            host=self.settings.broker_host,
            port=self.settings.broker_port,
            client=CLOUD,
            tls=partial(client_context, folder / "ca.crt", certificate, key),
        )
