"""Who the boxes are: invitations, enrolment, and what is known of each.

Rules of this module:

* A claim code is good for one key. The same request asked again gets an answer again,
  so an answer that was lost on its way costs nothing; another key is refused.
* Births and wills count by boot and session: what an older session says late is
  ignored.
* Where an earlier boot goes on making sessions after a later one began, two machines
  use one name: somebody copied a disk.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cryptography import x509

from cloud.fleet.authority import Authority, key_name, request_key
from cloud.fleet.broker import Member
from cloud.fleet.db import FleetDb
from cloud.fleet.settings import FleetSettings
from common.errors import YaoheError, quoted
from common.protocol import reports, topics
from common.protocol.reports import (
    Birth,
    EnrolAnswer,
    Enrolled,
    EnrolRequest,
    State,
)
from common.trust.claim import ANSWERING, ASKING, Claim, is_proof, new_claim, proof

DAY_S = 24 * 3600


@dataclass(frozen=True)
class BoxRow:
    """A box in the fleet's view.

    Attributes:
        box: Its name.
        groups: Its groups.
        enrolled: When, seconds since 1970.
        certificate_expires: When its certificate ends, seconds since 1970.
        is_up: Whether it is connected, as far as is known.
        seen: When it was last heard of, seconds since 1970; None if never.
        software: Version of Yaohe it runs.
        machine: What it runs on.
        packs: Packs it has.
        phrases: Phrases of the catalogue it can play.
        catalogue: Newest change that it has taken in, by scope.
        clock_suspect: Whether its clock is clearly wrong.
        tiers: Utterances by tier.
        waiting: Events that wait on it, as it last said.
        dropped: Events that it gave up because too many waited.
        lacking: Announced phrases that it had not, as it last said.
        lacking_why: Why, in a word, such as ``disk``; ``coming`` passes by itself.
        doubled: When two machines last used this name, seconds since 1970; None if
            that was not seen within a day.
    """

    box: str
    groups: tuple[str, ...]
    enrolled: int
    certificate_expires: int
    is_up: bool
    seen: int | None
    software: str
    machine: str
    packs: tuple[str, ...]
    phrases: int
    catalogue: Mapping[str, int]
    clock_suspect: bool
    tiers: Mapping[str, int]
    waiting: int
    dropped: int
    lacking: int
    lacking_why: str
    doubled: int | None


class Boxes:
    """The boxes of a chain."""

    def __init__(
        self,
        db: FleetDb,
        authority: Authority,
        settings: FleetSettings,
        *,
        root: Callable[[], bytes],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Put the parts together.

        Args:
            db: Where boxes are kept.
            authority: Signs their certificates.
            settings: Names and limits.
            root: Gives the TUF root that new boxes trust.
            now: Seconds since 1970.
        """
        self._db = db
        self._authority = authority
        self._settings = settings
        self._root = root
        self._now = now

    def invite(self, box: str, groups: Sequence[str] = ()) -> Claim:
        """Make a claim code for a box, new or replaced.

        Args:
            box: Its name.
            groups: Groups it will be in.

        Returns:
            The code.

        Raises:
            YaoheError: ``invalid_request``: a name cannot be used.
        """
        for name in (box, *groups):
            # A topic is the strictest use of a name.
            topics.parse(str(topics.Birth(self._settings.chain, name)))
        claim = new_claim()
        now = int(self._now())
        with self._db.change() as db:
            db.execute("DELETE FROM claims WHERE expires < ? OR box = ?", (now, box))
            db.execute(
                "INSERT INTO claims (name, secret, box, groups, expires) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    claim.name,
                    claim.secret,
                    box,
                    json.dumps(list(groups)),
                    now + self._settings.invitation_s,
                ),
            )
        return claim

    def enrol(self, request: EnrolRequest) -> EnrolAnswer:
        """Make a box one of the chain.

        Args:
            request: What it asks.

        Returns:
            What it needs, proven.

        Raises:
            YaoheError: ``unauthorized``: no such claim, expired, used by another key,
                or not proven. ``invalid_request``: the request for a certificate is
                broken.
        """
        asked = self._db.read("SELECT * FROM claims WHERE name = ?", (request.claim,))
        if not asked or asked[0]["expires"] < self._now():
            raise _unauthorized()
        row = asked[0]
        claim = Claim(row["name"], row["secret"])
        if not is_proof(claim, ASKING, request.request.encode(), request.proof):
            raise _unauthorized()
        key = key_name(request_key(request.request))
        days = self._settings.certificate_days
        certificate = self._authority.sign_request(request.request, row["box"], days)
        ends = _Ends.of(certificate)
        now = int(self._now())
        with self._db.change() as db:
            used = db.execute(
                "UPDATE claims SET used_by = ? WHERE name = ? "
                "AND (used_by IS NULL OR used_by = ?)",
                (key, claim.name, key),
            )
            if used.rowcount != 1:
                raise _unauthorized()
            db.execute(
                "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
                "VALUES (?, ?, ?, ?) ON CONFLICT (box) DO UPDATE SET "
                "groups = excluded.groups, enrolled = excluded.enrolled, "
                "certificate_expires = excluded.certificate_expires",
                (row["box"], row["groups"], now, ends.expires),
            )
            if row["used_by"] is None:
                # A disk that was copied, or a box that was stolen, keeps no way in.
                _revoke(db, row["box"])
            _note_certificate(db, row["box"], ends)
        enrolled = reports.encode(
            Enrolled(
                box=row["box"],
                chain=self._settings.chain,
                groups=json.loads(row["groups"]),
                certificate=certificate.decode(),
                authority=self._authority.certificate.decode(),
                broker_host=self._settings.broker_host,
                broker_port=self._settings.broker_port,
                root=self._root().decode(),
            )
        )
        return EnrolAnswer(
            enrolled=enrolled.decode(), proof=proof(claim, ANSWERING, enrolled)
        )

    def renew(self, box: str, request: bytes) -> bytes:
        """Certify a box's next key; the one before stays good until its end.

        Args:
            box: The box, as its connection proves.
            request: Certificate signing request, PEM; any bytes.

        Returns:
            The certificate, PEM.

        Raises:
            YaoheError: ``invalid_request``: the request is broken. ``not_found``: there
                is no such box any more.
        """
        days = self._settings.certificate_days
        text = request.decode("ascii", "replace")
        certificate = self._authority.sign_request(text, box, days)
        ends = _Ends.of(certificate)
        with self._db.change() as db:
            known = db.execute(
                "UPDATE boxes SET certificate_expires = ? WHERE box = ?",
                (ends.expires, box),
            )
            if known.rowcount != 1:
                raise YaoheError("not_found", f"no box named {quoted(box)}")
            _note_certificate(db, box, ends)
        return certificate

    def revoked(self) -> list[int]:
        """Serial numbers of certificates that are worth nothing before their end."""
        rows = self._db.read("SELECT serial FROM certificates WHERE revoked")
        return [int(row["serial"], 16) for row in rows]

    def forget_expired(self) -> None:
        """Forget certificates that ended by themselves."""
        with self._db.change() as db:
            db.execute("DELETE FROM certificates WHERE expires < ?", (self._now(),))

    def remove(self, box: str) -> None:
        """Shut a box out: its certificates are worth nothing from now on.

        Args:
            box: Its name.

        Raises:
            YaoheError: ``not_found``: there is none.
        """
        with self._db.change() as db:
            gone = db.execute("DELETE FROM boxes WHERE box = ?", (box,))
            if gone.rowcount == 0:
                raise YaoheError("not_found", f"no box named {quoted(box)}")
            db.execute("DELETE FROM claims WHERE box = ?", (box,))
            _revoke(db, box)

    def members(self) -> list[Member]:
        """All boxes as access control sees them."""
        rows = self._db.read("SELECT box, groups FROM boxes ORDER BY box")
        return [Member(row["box"], json.loads(row["groups"])) for row in rows]

    def list(self) -> list[BoxRow]:
        """All boxes, by name."""
        spoken: dict[str, dict[str, int]] = {}
        for row in self._db.read("SELECT * FROM tiers"):
            spoken.setdefault(row["box"], {})[row["tier"]] = row["spoken"]
        rows = self._db.read("SELECT * FROM boxes ORDER BY box")
        since = int(self._now()) - DAY_S
        return [_box_row(row, spoken.get(row["box"], {}), since) for row in rows]

    def take_birth(self, db: sqlite3.Connection, box: str, birth: Birth) -> None:
        """Note that a box is up or gone; runs in the caller's transaction.

        Args:
            db: The transaction's connection.
            box: Which box.
            birth: Its birth or will.
        """
        if birth.up:
            self._note_boot(db, box, birth)
        # A birth begins a session; an end counts only for the session it ends.
        counts = (
            "(boot != ? OR session <= ?)" if birth.up else "boot = ? AND session = ?"
        )
        known = db.execute(
            f"SELECT 1 FROM boxes WHERE box = ? AND {counts}",  # noqa: S608 - constants
            (box, birth.boot, birth.session),
        ).fetchone()
        if known:
            db.execute(
                "UPDATE boxes SET up = ?, session = ?, boot = ?, seen = ?, "
                "software = ?, machine = ? WHERE box = ?",
                (
                    *(birth.up, birth.session, birth.boot, int(self._now())),
                    *(birth.software, birth.machine, box),
                ),
            )

    def _note_boot(self, db: sqlite3.Connection, box: str, birth: Birth) -> None:
        """Remember a boot, and notice one that goes on beside a later one."""
        now = int(self._now())
        goes_on = db.execute(
            "SELECT 1 FROM boots JOIN boxes USING (box) WHERE box = ? "
            "AND boots.boot = ? AND boots.session < ? AND boxes.boot != boots.boot",
            (box, birth.boot, birth.session),
        ).fetchone()
        if goes_on:
            db.execute("UPDATE boxes SET doubled = ? WHERE box = ?", (now, box))
        db.execute(
            "INSERT INTO boots VALUES (?, ?, ?, ?) ON CONFLICT (box, boot) DO UPDATE "
            "SET session = max(boots.session, excluded.session), "
            "heard = excluded.heard",
            (box, birth.boot, birth.session, now),
        )
        db.execute("DELETE FROM boots WHERE heard < ?", (now - 7 * DAY_S,))

    def take_state(self, db: sqlite3.Connection, box: str, state: State) -> None:
        """Note a box's health; runs in the caller's transaction."""
        db.execute(
            "UPDATE boxes SET state = ?, seen = ? WHERE box = ?",
            (reports.encode(state).decode(), int(self._now()), box),
        )


class _Ends(NamedTuple):
    """What must be known of a certificate to take it back."""

    serial: str
    expires: int

    @classmethod
    def of(cls, certificate: bytes) -> _Ends:
        """Read it from PEM."""
        parsed = x509.load_pem_x509_certificate(certificate)
        expires = int(parsed.not_valid_after_utc.timestamp())
        return cls(f"{parsed.serial_number:x}", expires)


def _note_certificate(db: sqlite3.Connection, box: str, ends: _Ends) -> None:
    db.execute(
        "INSERT INTO certificates (serial, box, expires) VALUES (?, ?, ?)",
        (ends.serial, box, ends.expires),
    )


def _revoke(db: sqlite3.Connection, box: str) -> None:
    db.execute("UPDATE certificates SET revoked = 1 WHERE box = ?", (box,))


def _box_row(row: sqlite3.Row, tiers: Mapping[str, int], since: int) -> BoxRow:
    doubled = row["doubled"]
    state: dict[str, Any] = json.loads(row["state"])
    return BoxRow(
        box=row["box"],
        groups=tuple(json.loads(row["groups"])),
        enrolled=row["enrolled"],
        certificate_expires=row["certificate_expires"],
        is_up=bool(row["up"]),
        seen=row["seen"],
        software=row["software"],
        machine=row["machine"],
        packs=tuple(state.get("packs", ())),
        phrases=state.get("phrases", 0),
        catalogue=state.get("catalogue", {}),
        clock_suspect=bool(state.get("clock_suspect", False)),
        tiers=dict(tiers),
        waiting=state.get("waiting", 0),
        dropped=state.get("dropped", 0),
        lacking=state.get("lacking", 0),
        lacking_why=state.get("lacking_why", ""),
        doubled=doubled if doubled is not None and doubled >= since else None,
    )


def _unauthorized() -> YaoheError:
    """One answer whatever is wrong: a stranger learns nothing."""
    return YaoheError(
        "unauthorized",
        "this claim code is unknown, used or expired; ask for a new invitation",
    )
