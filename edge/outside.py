"""What lies outside this box, in plain words: its line, its cloud, packs on the way.

Rules: nothing here is ever ``fail``, since the box speaks without all of it. Only the
process that holds the line knows its state: a command asks the running box.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import httpx

from common.errors import YaoheError
from edge.check import Check, Verdict
from edge.settings import EdgeSettings
from edge.sync.membership import load_membership
from edge.sync.state import LineState, Why
from edge.sync.unmatched import Unmatched

if TYPE_CHECKING:
    from edge.ota.ledger import Update
    from edge.service import Service

ASK_TIMEOUT_S = 3.0
NAMES = ("line", "phrases", "cloud", "updates")
"""Findings of this file."""
PLAIN: Mapping[str, str] = {
    "bad_signature": "it is not signed by a key of the chain",
    "not_signed": "the chain's keys did not sign it",
    "damaged": "its bytes are not those that were signed",
    "older_version": "a newer version was in use here",
    "version_reused": "the same version was in use here with another content",
    "unfit": "it is made for another version of Yaohe",
    "base_missing": "the pack it stands on is not here",
    "trial_failed": "it did not speak its test phrases as it should",
    "trial_crashed": "it crashed while it spoke its test phrases",
    "blocked": "it failed here before",
    "removed": "a person took it out",
}
"""Reasons of a refusal for people."""
LACKS: Mapping[Why, tuple[str, str]] = {
    "disk": (
        "the disk is nearly full",
        "Free space: the box then fetches them by itself.",
    ),
    "cache": (
        "the cache is full",
        "Raise YAOHE_EDGE_CACHE__BUDGET_BYTES, if the disk has room.",
    ),
    "closed": (
        "the cache cannot be used now",
        "Look at the cache and the disk; the box tries again by itself.",
    ),
    "refused": (
        "what came for them cannot be kept",
        "Tell whoever runs the cloud; a restart asks for them again.",
    ),
}
"""Why phrases are lacking for good, and what to do about it."""


@dataclass(frozen=True)
class Refusal:
    """A pack that does not speak here though somebody wants it.

    Attributes:
        pack: ``name@version``, or a digest where the name is not known.
        reason: Why, for programs; empty for a pack in use that cannot be loaded.
        says: Why, for people.
    """

    pack: str
    reason: str
    says: str


@dataclass(frozen=True)
class Outside:
    """What a running box knows.

    Attributes:
        line: The line to the chain; None without one.
        cloud: Address of the cloud that speaks for the box; None without one.
        is_connected: Whether that cloud is at the other end.
        breaker: ``closed`` (it is asked), ``open`` (left alone) or ``trying``; empty
            without a cloud.
        updates: Packs that came, the newest last.
        refusals: Packs that do not speak here.
        unmatched: Phrases of the chain that nobody here can ask for.
    """

    line: LineState | None
    cloud: str | None
    is_connected: bool
    breaker: str
    updates: Sequence[Update]
    refusals: Sequence[Refusal]
    unmatched: Unmatched

    @classmethod
    def of(cls, service: Service) -> Outside:
        """Look at a running box; reads its databases.

        Args:
            service: The box.

        Returns:
            What it knows.
        """
        cloud, ota = service.cloud, service.ota
        updates = ota.updates() if ota is not None else []
        offers = service.desk.refusals if service.desk is not None else {}
        # An offer is refused by its path, packs/NAME/VERSION/manifest.json.
        refusals = {
            name: Refusal(name, refused.reason, refused.message)
            for path, refused in list(offers.items())
            for name in ["@".join(path.split("/")[1:3]) or path]
        }
        for update in unhappy(updates):
            says = update.detail or update.reason
            refusals[update.label] = Refusal(update.label, update.reason, says)
        labels = {update.manifest: update.label for update in updates}
        for manifest, says in (ota.refusals if ota is not None else {}).items():
            name = labels.get(manifest, manifest[:12])
            refusals[name] = Refusal(name, "", says)
        line = service.line
        return cls(
            line=line.state() if line is not None else None,
            cloud=cloud.url if cloud is not None else None,
            is_connected=cloud.is_connected if cloud is not None else False,
            breaker=cloud.breaker.says if cloud is not None else "",
            updates=updates,
            refusals=list(refusals.values()),
            unmatched=(
                line.unmatched(service.packs.lexicon)
                if line is not None
                else Unmatched()
            ),
        )

    def as_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        cloud = {
            "url": self.cloud,
            "connected": self.is_connected,
            "breaker": self.breaker,
        }
        return {
            "line": asdict(self.line) if self.line is not None else None,
            "cloud": cloud if self.cloud is not None else None,
            "updates": [
                {
                    "pack": update.label,
                    "manifest": update.manifest,
                    "state": update.state,
                    "reason": update.reason,
                    "detail": update.detail,
                }
                for update in self.updates
            ],
            "refusals": [asdict(refusal) for refusal in self.refusals],
            "unmatched": self.unmatched._asdict(),
        }

    def checks(self, settings: EdgeSettings) -> list[Check]:
        """The same in plain words.

        Args:
            settings: What the box is told.

        Returns:
            One finding each for the line, the phrases, the cloud and the packs.
        """
        line = membership(settings) if self.line is None else _line(self.line)
        return [line, self._phrases(), self._cloud(), self._updates()]

    def _phrases(self) -> Check:
        """Phrases of the chain: whether they are here, and can be asked for."""
        line, other = self.line, self.unmatched
        if line is None:
            return Check("phrases", "ok", "No chain sends phrases to this box.")
        if line.lacking and line.lacking_why in LACKS:
            why, advice = LACKS[line.lacking_why]
            says = f"{line.lacking} phrases of the chain are not here: {why}."
            return Check("phrases", "warn", says, advice)
        if other.phrases:
            lexicon = f" (digest {other.lexicon[:12]})" if other.lexicon else ""
            return Check(
                "phrases",
                "warn",
                f"{other.phrases} phrases of the chain are read otherwise here, such "
                f"as '{other.text}': they are kept and never played.",
                f"Give this box the chain's lexicon{lexicon}: YAOHE_EDGE_LEXICON; "
                "where it has it, bring box and cloud to one version.",
            )
        if line.lacking:
            return Check(
                "phrases", "ok", f"{line.lacking} phrases of the chain are coming."
            )
        return Check("phrases", "ok", "All phrases of the chain are here.")

    def _cloud(self) -> Check:
        where = f"The cloud at {self.cloud}"
        if self.cloud is None:
            return Check("cloud", "ok", "No cloud speaks for this box.")
        if self.breaker != "closed":
            return Check(
                "cloud",
                "warn",
                f"{where} failed several times; it is left alone for up to a minute.",
                "Look at the cloud; the box asks it again by itself.",
            )
        if not self.is_connected:
            return Check(
                "cloud",
                "warn",
                f"{where} cannot be reached.",
                "Look at the network; the box speaks with its own voice meanwhile.",
            )
        return Check("cloud", "ok", f"{where} answers.")

    def _updates(self) -> Check:
        coming = [
            f"{update.label} is on its way ({update.state})."
            for update in self.updates
            if update.state not in ("committed", "rolled_back")
        ]
        if not self.refusals:
            says = " ".join(coming) or "No pack is refused."
            return Check("updates", "ok", says)
        refused = [
            f"{one.pack} is refused: {PLAIN.get(one.reason, one.says)}."
            for one in self.refusals
        ]
        return Check(
            "updates",
            "warn",
            " ".join(refused + coming),
            "The voices from before still speak; tell whoever publishes the packs.",
        )


def membership(settings: EdgeSettings, *, runs: bool = True) -> Check:
    """Say what the disk knows about the line, where no process holds one.

    Args:
        settings: What the box is told.
        runs: Whether the box itself says so.

    Returns:
        The finding.
    """
    try:
        found = load_membership(settings.data)
    except YaoheError as error:
        return Check(
            "line",
            "warn",
            f"The membership in a chain cannot be used: {error.message}.",
            "Ask for an invitation and run 'yaohe-edge enrol CODE --cloud ADDRESS'.",
        )
    if found is None:
        return Check("line", "ok", "Not enrolled in a chain: this box speaks alone.")
    who = f"{found.enrolled.box} of chain {found.enrolled.chain}"
    if not settings.sync.enabled:
        return Check("line", "ok", f"Enrolled as {who}, and told not to connect.")
    if runs:
        return Check(
            "line", "warn", f"Enrolled as {who} since it started.", "Restart the box."
        )
    return Check("line", "ok", f"Enrolled as {who}; no running box tells more.")


def ask(settings: EdgeSettings) -> list[Check]:
    """Ask the running box.

    Args:
        settings: What the box is told.

    Returns:
        Its findings; what the disk knows where none answers.
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(  # noqa: S104 - not bound here
        settings.http.host, settings.http.host
    )
    name = f"[{host}]" if ":" in host else host
    try:
        answer = httpx.get(
            f"http://{name}:{settings.http.port}/v1/status",
            timeout=ASK_TIMEOUT_S,
            trust_env=False,
        )
        found = [
            Check(
                str(one["name"]), _verdict(one["verdict"]), one["says"], one["advice"]
            )
            for one in answer.json()["checks"]
            if one["name"] in NAMES
        ]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        found = []
    return found or [membership(settings, runs=False)]


def _line(line: LineState) -> Check:
    who = f"{line.box} of chain {line.chain}"
    waiting = f" {line.waiting} reports wait for the cloud." if line.waiting else ""
    if line.dropped:
        waiting += f" {line.dropped} older ones were given up: too many waited."
    if not line.is_up:
        why = f": {line.last_error}" if line.last_error else ""
        since = f" since {_clock(line.last_error_at)}" if line.last_error_at else ""
        return Check(
            "line",
            "warn",
            f"{who} is not connected{since}{why}.{waiting}",
            "Look at the network and the broker; the box connects again by itself.",
        )
    if line.refusal is not None:
        return Check(
            "line",
            "warn",
            f"{who} is connected, but the newest metadata is not trusted: "
            f"{line.refusal}.{waiting}",
            "Look at the clock, and at the chain's keys.",
        )
    if line.is_rebuilt:
        return Check(
            "line",
            "warn",
            f"{who} is connected, but its memory was damaged and begun anew; "
            f"reports that waited are lost.{waiting}",
            "Look at the disk; a restart clears this message.",
        )
    if line.is_current:
        state = "all phrases are here"
    elif line.lacking_why in LACKS:
        state = f"{line.lacking} phrases are not here"
    else:
        state = "phrases are coming"
    return Check("line", "ok", f"{who} is connected; {state}.{waiting}")


def _clock(at_s: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s))


def unhappy(updates: Sequence[Update]) -> list[Update]:
    """Updates that were refused, unless a later one of the same pack speaks."""
    newest = {update.name: update for update in updates if update.state == "committed"}
    order = {update.manifest: at for at, update in enumerate(updates)}
    return [
        update
        for update in updates
        if update.state == "rolled_back"
        and update.reason not in ("", "removed")
        and (
            update.name not in newest
            or order[newest[update.name].manifest] < order[update.manifest]
        )
    ]


def _verdict(value: object) -> Verdict:
    for verdict in get_args(Verdict):
        if value == verdict:
            return verdict  # type: ignore[no-any-return]
    raise ValueError(f"no verdict: {value!r}")
