"""The broker's configuration, written from who is enrolled.

Rules of this module:

* Clients are known by their certificate alone: its common name is user and client id,
  so nobody can take another's place.
* Each box has an access block of its own: it reads what is for all, for its groups and
  for itself, and writes below its own name. A box that is not listed can do nothing.
* A certificate that was taken back is turned away by its number, whatever name it has.
* The files are replaced atomically, then a running broker is told to read them again;
  its sessions stay.
"""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cloud.fleet.authority import CLOUD, Authority
from cloud.fleet.settings import FleetSettings
from common.files import PRIVATE, make_directory, write_atomic
from common.protocol import topics

MIB = 1 << 20
QUEUED_MESSAGES = 5000
"""For each client; with the default of 1,000 acknowledged messages were lost."""
QUEUED_BYTES = 64 * MIB
"""For each client."""
MESSAGE_BYTES = 300 * 1024
"""Longest message."""
PERSISTENT_DAYS = 30
"""How long a box may be away before the broker forgets what waits for it."""
MEMORY_BYTES = 2048 * MIB

CONF = """\
# Written by Yaohe from its settings; changes here are lost.
user {user}
pid_file {folder}/mosquitto.pid
persistence true
persistence_location {folder}/data/
autosave_interval 60
persistent_client_expiration {days}d

set_tcp_nodelay true
max_queued_messages {queued_messages}
max_queued_bytes {queued_bytes}
message_size_limit {message_bytes}
memory_limit {memory_bytes}
max_inflight_messages 20

log_dest stderr
log_type error
log_type warning
log_type notice
connection_messages false

listener {port} {bind}
cafile {folder}/ca.crt
certfile {folder}/broker.crt
keyfile {folder}/broker.key
crlfile {folder}/revoked.pem
tls_version tlsv1.2
require_certificate true
use_identity_as_username true
use_username_as_clientid true
acl_file {folder}/acl
"""


class Member(NamedTuple):
    """A box as access control sees it.

    Attributes:
        box: Its name.
        groups: Its groups.
    """

    box: str
    groups: Sequence[str]


def access(chain: str, members: Iterable[Member]) -> str:
    """Write the access rules.

    Args:
        chain: The chain's name.
        members: All boxes that may connect.

    Returns:
        Content of Mosquitto's ``acl_file``.
    """
    root = f"{topics.ROOT}/{chain}"
    lines = [f"user {CLOUD}", f"topic readwrite {topics.ROOT}/#"]
    for member in members:
        own = f"{root}/e/{member.box}"
        scopes = [topics.EVERYONE, *map(topics.group, member.groups)]
        reads = [
            *(f"{root}/tuf/#", f"{root}/blob/#", f"{own}/cmd", f"{own}/in/#"),
            *(f"{root}/{kind}/{s}/#" for s in scopes for kind in ("cat", "job")),
            *(f"{root}/{kind}/voice/#" for kind in ("cat", "job")),
        ]
        birth, state = topics.Birth(chain, member.box), topics.State(chain, member.box)
        writes = [f"{birth}", f"{state}", f"{own}/ev/+", f"{root}/need/+/{member.box}"]
        lines += ["", f"user {member.box}"]
        lines += [f"topic read {topic}" for topic in reads]
        lines += [f"topic write {topic}" for topic in writes]
    return "\n".join(lines) + "\n"


class Broker:
    """The broker's folder.

    Attributes:
        config: The file to start Mosquitto with.
    """

    def __init__(
        self, folder: Path, authority: Authority, settings: FleetSettings
    ) -> None:
        """Remember the parts; :meth:`write` writes.

        Args:
            folder: The broker's folder.
            authority: Signs the broker's certificate.
            settings: Names and ports.
        """
        self._folder = folder
        self._authority = authority
        self._settings = settings
        self.config = folder / "mosquitto.conf"

    def write(self, members: Iterable[Member], revoked: Iterable[int] = ()) -> None:
        """Write everything, and let a running broker read it.

        Args:
            members: All boxes that may connect.
            revoked: Serial numbers of certificates that are turned away.
        """
        make_directory(self._folder / "data")
        settings = self._settings
        if not (self._folder / "broker.crt").exists():
            hosts = dict.fromkeys([settings.broker_host, "localhost", "127.0.0.1"])
            identity = self._authority.issue_server(list(hosts))
            write_atomic(self._folder / "broker.key", identity.key, mode=PRIVATE)
            write_atomic(self._folder / "ca.crt", self._authority.certificate)
            write_atomic(self._folder / "broker.crt", identity.certificate)
        rules = access(settings.chain, members).encode()
        write_atomic(self._folder / "acl", rules, mode=PRIVATE)
        listed = self._authority.revoked(revoked)
        write_atomic(self._folder / "revoked.pem", listed)
        conf = CONF.format(
            # Whoever writes these files can read them, and so must the broker.
            user=pwd.getpwuid(os.geteuid()).pw_name,
            folder=self._folder,
            days=PERSISTENT_DAYS,
            queued_messages=QUEUED_MESSAGES,
            queued_bytes=QUEUED_BYTES,
            message_bytes=MESSAGE_BYTES,
            memory_bytes=MEMORY_BYTES,
            port=settings.broker_port,
            bind=settings.bind,
        )
        write_atomic(self.config, conf.encode())
        self._reload()

    def _reload(self) -> None:
        try:
            pid = int((self._folder / "mosquitto.pid").read_text("ascii"))
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return
        # The number may be another process's by now; ours names our file.
        if str(self.config).encode() in command:
            os.kill(pid, signal.SIGHUP)
