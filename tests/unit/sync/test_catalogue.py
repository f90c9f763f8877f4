"""Cloud and box agree on the catalogue, whatever the line does in between."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from cloud.fleet.leftovers import LEFTOVER_S
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.errors import YaoheError
from common.protocol.catalogue import Head, Log, Snapshot
from common.protocol.cbor import decode
from common.protocol.rendition import SentRendition
from distill import signing
from edge.sync.replica import Adoption, Replica

SCOPE = "all"


def rendition(number: int, take: int = 0, *, enforced: bool = True) -> SentRendition:
    """A phrase of its own, in one of several takes."""
    key = bytes([number % 256, number // 256, *range(14)])
    return SentRendition(
        key=key,
        text=f"第{number}桌",
        voice="woman",
        dialect="zh",
        engine="packed",
        enforced=enforced,
        duration_ms=1000,
        master=b"%d take %d" % (number, take),
    )


@pytest.fixture
def office(tmp_path: Path, chain_keys: Path) -> Office:
    office = Office(tmp_path / "cloud", FleetSettings(chain="tea"))
    office.repository.found(chain_keys)
    return office


class Box:
    """A replica, and a cloud that answers what reaches it."""

    def __init__(self, office: Office, chance: random.Random | None = None) -> None:
        self.office = office
        self.replica = Replica(SCOPE, 0, 0, 0, [])
        self.chance = chance
        self.adopted: list[Adoption] = []
        self.ways: list[str] = []

    def head(self) -> Head:
        return self.office.catalogue.published(SCOPE).head

    def take(self, adoption: Adoption | None) -> None:
        if adoption is not None:
            self.adopted.append(adoption)
            self.replica.commit(adoption)

    def is_lost(self) -> bool:
        return self.chance is not None and self.chance.random() < 0.4

    def ask(self) -> None:
        """One round: the box asks, the cloud answers, some of it arrives."""
        way = self.replica.next_way()
        if way is None or self.is_lost():
            return
        self.ways.append(way)
        catalogue = self.office.catalogue
        if way == "snapshot":
            content = self.office.blobs.read(catalogue.published(SCOPE).snapshot)
            self.take(self.replica.take_snapshot(decode(Snapshot, content)))
            return
        need = self.replica.need(way)
        if need.since is not None:
            logs = list(catalogue.log(SCOPE, need.since))
            for log in self.shaken(logs):
                self.take(self.replica.take_log(log))
        elif need.buckets is not None:
            for reply in self.shaken(list(catalogue.difference(SCOPE, need.buckets))):
                self.take(self.replica.take_buckets(reply))

    def shaken(self, messages: list) -> list:  # type: ignore[type-arg]
        """Lost, doubled and swapped."""
        if self.chance is None:
            return messages
        kept = [m for m in messages for _ in range(self.chance.choice((0, 1, 1, 2)))]
        self.chance.shuffle(kept)
        return kept

    def converge(self, rounds: int = 200) -> None:
        for _ in range(rounds):
            self.take(self.replica.take_head(self.head()))
            if self.replica.is_current:
                break
            self.ask()
        assert self.replica.is_current
        wanted = {row.key: row.sha256 for row in self.office.catalogue.phrases()}
        had = {e.key.hex(): e.sha256.hex() for e in self.replica.entries.values()}
        assert had == wanted


def test_new_box_takes_the_snapshot_and_then_changes(office: Office) -> None:
    for number in range(5):
        office.catalogue.put(SCOPE, rendition(number))
    box = Box(office)
    box.converge()
    office.catalogue.put(SCOPE, rendition(9))
    office.catalogue.remove(SCOPE, rendition(0).key)
    box.converge()
    assert box.ways == ["snapshot", "log"]
    assert [entry.key for entry in box.adopted[-1].changed] == [rendition(9).key]
    assert box.adopted[-1].removed == (rendition(0).key,)


def test_broadcast_change_needs_no_question(office: Office) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    box = Box(office)
    box.converge()
    office.catalogue.put(SCOPE, rendition(2))
    for log in office.catalogue.log(SCOPE, 1):
        box.take(box.replica.take_log(log))
    assert not box.adopted[1:]
    box.take(box.replica.take_head(box.head()))
    assert box.replica.is_current
    assert box.ways == ["snapshot"]


def test_same_phrase_again_is_no_change(office: Office) -> None:
    assert office.catalogue.put(SCOPE, rendition(1)) == 1
    assert office.catalogue.put(SCOPE, rendition(1)) == 1
    assert office.catalogue.put(SCOPE, rendition(1, take=1)) == 2


def test_box_away_longer_than_the_log_reaches_still_converges(office: Office) -> None:
    office.catalogue.put(SCOPE, rendition(0))
    office.catalogue.put(SCOPE, rendition(1))
    box = Box(office)
    box.converge()
    office.catalogue.remove(SCOPE, rendition(0).key)
    for number in range(2, 30):
        office.catalogue.put(SCOPE, rendition(number))
    office.catalogue.compact(SCOPE, keep=5)
    assert list(office.catalogue.log(SCOPE, 2)) == []
    box.converge()
    assert "log" not in box.ways[1:]


def test_wrong_root_is_never_applied_and_is_repaired_by_buckets(office: Office) -> None:
    for number in range(40):
        office.catalogue.put(SCOPE, rendition(number))
    box = Box(office)
    box.converge()
    before = dict(box.replica.entries)
    office.catalogue.put(SCOPE, rendition(50))
    (log,) = office.catalogue.log(SCOPE, 40)
    forged = log.entries[0]._replace(sha256=b"x" * 32)
    box.take(box.replica.take_head(box.head()))
    lie = Log(epoch=log.epoch, first=log.first, last=log.last, entries=[forged])
    assert box.replica.take_log(lie) is None
    assert box.replica.entries == before
    box.converge()
    assert "buckets" in box.ways
    assert [len(adoption.changed) for adoption in box.adopted] == [40, 1]


def test_old_head_is_ignored(office: Office) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    box = Box(office)
    old = box.head()
    box.converge()
    office.catalogue.put(SCOPE, rendition(2))
    box.converge()
    for _ in range(10):
        assert box.replica.take_head(old) is None
    assert box.replica.target != old
    assert len(box.replica.entries) == 2


def test_rebuilt_log_is_another_epoch_and_is_followed(
    office: Office, tmp_path: Path, chain_keys: Path
) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    box = Box(office)
    box.converge()
    later = Office(
        tmp_path / "new", FleetSettings(chain="tea"), now=lambda: 4_000_000_000.0
    )
    later.repository.found(chain_keys)
    later.catalogue.put(SCOPE, rendition(7))
    box.office = later
    box.converge()
    assert [entry.key for entry in box.replica.entries.values()] == [rendition(7).key]


@pytest.mark.parametrize("seed", range(6))
def test_any_loss_order_and_doubling_converges(office: Office, seed: int) -> None:
    chance = random.Random(seed)
    box = Box(office, chance)
    for _ in range(4):
        for _ in range(chance.randrange(1, 12)):
            number = chance.randrange(8)
            if chance.random() < 0.3:
                with suppress(YaoheError):
                    office.catalogue.remove(SCOPE, rendition(number).key)
            else:
                office.catalogue.put(SCOPE, rendition(number, chance.randrange(3)))
            if office.catalogue.scopes():
                for log in box.shaken(list(office.catalogue.log(SCOPE, 0))):
                    box.take(box.replica.take_log(log))
        if office.catalogue.scopes():
            box.converge()


def test_engine_that_chooses_readings_enters_only_when_checked(office: Office) -> None:
    unsure = rendition(1, enforced=False)
    with pytest.raises(YaoheError, match="only after a check"):
        office.catalogue.put(SCOPE, unsure)
    assert office.catalogue.put(SCOPE, unsure, checked=True) == 1


def test_new_key_signs_the_same_catalogue_again(
    office: Office, tmp_path: Path, chain_keys: Path
) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    first = office.catalogue.published(SCOPE)
    keys = tmp_path / "keys"
    shutil.copytree(chain_keys, keys)
    signing.replace_key(keys, "phrases")
    office.repository.found(keys)
    again = office.catalogue.published(SCOPE)
    assert again.head.seq == first.head.seq
    assert again.envelope != first.envelope


def test_snapshot_of_yesterday_takes_no_space(office: Office) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    first = office.catalogue.published(SCOPE)
    office.catalogue.put(SCOPE, rendition(2))
    office.catalogue.published(SCOPE)
    with pytest.raises(YaoheError):
        office.blobs.read(first.snapshot)


def test_blobs_that_nobody_names_are_forgotten_also_after_a_crash(
    tmp_path: Path, chain_keys: Path
) -> None:
    clock = [1_000_000.0]

    def opened() -> Office:
        settings = FleetSettings(chain="tea")
        office = Office(tmp_path / "cloud", settings, now=lambda: clock[0])
        office.repository.found(chain_keys)
        return office

    def kept(office: Office) -> set[str]:
        return {p.name for p in (office.folder / "blobs").glob("??/*")}

    office = opened()
    office.catalogue.put(SCOPE, rendition(1))
    office.catalogue.put(SCOPE, rendition(2))
    pack = office.blobs.keep(b"a file of a pack")
    old = office.catalogue.published(SCOPE).snapshot
    # The service is killed; the next one publishes something else.
    office = opened()
    office.catalogue.put(SCOPE, rendition(1, take=2))
    office.catalogue.remove(SCOPE, rendition(2).key)
    clock[0] += LEFTOVER_S + 1
    assert office.catalogue.collect() == 0, "boxes may still fetch the old snapshot"
    new = office.catalogue.published(SCOPE).snapshot
    assert office.catalogue.collect() == 3
    named = {row.sha256 for row in office.catalogue.phrases()}
    assert kept(office) == {pack, new, *named}
    assert old not in kept(office)
    # What comes back is kept, and goes when it is replaced once more.
    office.catalogue.put(SCOPE, rendition(1))
    assert office.catalogue.collect() == 0
    clock[0] += LEFTOVER_S + 1
    office.catalogue.published(SCOPE)
    office.catalogue.collect()
    assert {row.sha256 for row in office.catalogue.phrases()} <= kept(office)
    assert len(kept(office)) == 3


def test_unchanged_catalogue_is_signed_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.catalogue.put(SCOPE, rendition(1))
    first = office.catalogue.published(SCOPE)
    monkeypatch.setattr(office.repository, "sign_envelope", _never)
    assert office.catalogue.published(SCOPE) is first


def _never(*_: object) -> bytes:
    raise AssertionError
