"""What a box trusts, against every public kind of attack on an update repository."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Timestamp

from cloud.fleet.repository import Repository
from common.errors import YaoheError
from common.trust.envelope import open_envelope
from common.trust.roles import HEAD_TYPE, JOB_TYPE
from common.trust.updater import Trusted, TrustUpdater
from distill import signing

DAY_S = 24 * 3600.0


class Files:
    """A source: the repository's files, perhaps meddled with."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def metadata(self, name: str) -> bytes | None:
        return self.files.get(name)


class Memory:
    """Marks in memory."""

    def __init__(self) -> None:
        self.marks: dict[str, int] = {}

    def versions(self) -> Mapping[str, int]:
        return dict(self.marks)

    def raise_to(self, versions: Mapping[str, int]) -> None:
        self.marks.update(versions)


class World:
    """A chain's keys, its repository and one box."""

    def __init__(self, folder: Path, keys: Path) -> None:
        self.keys = folder / "keys"
        shutil.copytree(keys, self.keys)
        self.repository = Repository(folder / "repository")
        self.repository.found(self.keys)
        self.source = Files()
        self.marks = Memory()
        self.cache = folder / "cache"
        self.bootstrap = self.repository.root()
        self.now = time.time()
        self.serve()

    def serve(self) -> dict[str, bytes]:
        """Everything that was ever published."""
        self.source.files.update(dict(self.repository.files()))
        return dict(self.source.files)

    def refresh(self, *, wall_s: float | None = None, floor_s: float = 0) -> Trusted:
        updater = TrustUpdater(self.cache, self.bootstrap, self.source, self.marks)
        return updater.refresh(self.now if wall_s is None else wall_s, floor_s)

    def forget(self) -> None:
        """A power cut empties python-tuf's cache."""
        shutil.rmtree(self.cache)


@pytest.fixture
def world(tmp_path: Path, chain_keys: Path) -> World:
    return World(tmp_path, chain_keys)


def refused(
    world: World, words: str | None = None, *, wall_s: float | None = None
) -> None:
    with pytest.raises(YaoheError, match=words) as caught:
        world.refresh(wall_s=wall_s)
    assert caught.value.code == "pack_invalid"


def test_signed_metadata_is_trusted_and_names_its_keys(world: World) -> None:
    trusted = world.refresh()
    assert trusted.versions == {"root": 1, "timestamp": 1, "snapshot": 1, "targets": 1}
    assert len(trusted.packs.keys) == 2
    assert len(trusted.phrases.keys) == 1
    assert not trusted.is_clock_suspect


def test_rollback_is_refused(world: World) -> None:
    old = world.serve()
    world.repository.renew(force=True)
    world.serve()
    world.refresh()
    world.source.files = old
    refused(world)


def test_rollback_is_refused_when_a_power_cut_emptied_the_cache(world: World) -> None:
    old = world.serve()
    world.repository.renew(force=True)
    world.serve()
    world.refresh()
    world.forget()
    world.source.files = old
    refused(world, "went back")


@pytest.mark.parametrize("name", ["timestamp", "snapshot", "targets", "root"])
def test_truncated_cache_files_are_replaced(world: World, name: str) -> None:
    world.refresh()
    (world.cache / f"{name}.json").write_bytes(b"")
    assert world.refresh().versions["targets"] == 1


def test_freeze_is_noticed_when_the_timestamp_expires(world: World) -> None:
    world.refresh()
    refused(world, "expired", wall_s=world.now + 8 * DAY_S)


def test_clock_ahead_takes_newer_metadata_and_is_reported(world: World) -> None:
    world.refresh()
    world.repository.renew(force=True)
    world.serve()
    trusted = world.refresh(wall_s=world.now + 30 * DAY_S, floor_s=world.now)
    assert trusted.is_clock_suspect
    assert trusted.versions["timestamp"] == 2


def test_clock_at_1970_does_not_bring_expired_metadata_back(world: World) -> None:
    with pytest.raises(YaoheError, match="expired"):
        world.refresh(wall_s=0, floor_s=world.now + 40 * DAY_S)
    assert world.refresh(wall_s=0, floor_s=world.now).versions["root"] == 1


def test_mixed_and_matched_snapshot_is_refused(world: World) -> None:
    files = world.serve()
    world.repository.renew(force=True)
    newer = world.serve()
    assert newer["2.snapshot.json"] != files["1.snapshot.json"]
    world.source.files["2.snapshot.json"] = files["1.snapshot.json"]
    refused(world)


def test_fast_forward_by_a_stolen_timestamp_key_ends_with_a_new_root(
    world: World, tmp_path: Path
) -> None:
    """The thief makes boxes expect a version nobody will reach; a new root heals it."""
    stolen = signing._signer(world.keys / "online" / "timestamp.pem")
    stamp = Metadata[Timestamp].from_bytes(world.source.files["timestamp.json"])
    stamp.signed.version = 1_000_000
    stamp.sign(stolen)
    world.source.files["timestamp.json"] = stamp.to_bytes()
    assert world.refresh().versions["timestamp"] == 1_000_000

    world.serve()
    refused(world)
    world.forget()
    refused(world, "went back")
    for name in ("timestamp", "snapshot"):
        signing.replace_key(world.keys, name)
    world.repository.found(world.keys)
    world.serve()
    assert world.refresh().versions == {
        **{"root": 3, "targets": 1},
        **{"timestamp": 2, "snapshot": 2},
    }


def test_metadata_signed_by_another_key_is_refused(world: World) -> None:
    stamp = Metadata[Timestamp].from_bytes(world.source.files["timestamp.json"])
    stamp.signed.version = 2
    stamp.sign(CryptoSigner.generate_ed25519())
    world.source.files["timestamp.json"] = stamp.to_bytes()
    refused(world, "signed")


def test_flipped_byte_is_refused(world: World) -> None:
    good = world.source.files["1.targets.json"]
    world.source.files["1.targets.json"] = good.replace(
        b'"version":1}', b'"version":2}'
    )
    assert world.source.files["1.targets.json"] != good
    refused(world)


def test_missing_metadata_is_another_matter_than_false_metadata(world: World) -> None:
    del world.source.files["timestamp.json"]
    with pytest.raises(YaoheError) as caught:
        world.refresh()
    assert caught.value.code == "not_ready"


def test_new_root_is_followed(world: World) -> None:
    world.refresh()
    signing.renew(world.keys, "root")
    world.repository.found(world.keys)
    world.serve()
    assert world.refresh().versions["root"] == 2


def test_root_signed_by_one_key_of_three_is_refused(world: World) -> None:
    root = signing.newest(world.keys, "root")
    root.signed.version = 2
    root.signatures.clear()
    root.sign(signing._signer(world.keys / "offline" / "root-1.pem"))
    world.source.files["2.root.json"] = root.to_bytes()
    refused(world, "signed")


def test_cloud_refuses_targets_that_the_offline_keys_did_not_sign(
    world: World, tmp_path: Path
) -> None:
    targets = signing.newest(world.keys, "targets")
    targets.signed.version = 2
    targets.signatures.clear()
    targets.sign(signing._signer(world.keys / "online" / "snapshot.pem"))
    path = tmp_path / "2.targets.json"
    path.write_bytes(targets.to_bytes())
    with pytest.raises(YaoheError, match="not this chain's"):
        world.repository.take_targets(path)


def test_online_metadata_is_signed_again_when_half_its_life_is_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not world.repository.renew()
    path = world.repository._metadata / "timestamp.json"
    stamp = Metadata[Timestamp].from_file(str(path))
    stamp.signed.expires = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=3)
    path.write_bytes(stamp.to_bytes())
    assert world.repository.renew()
    world.serve()
    assert world.refresh().versions["timestamp"] == 2


def test_envelope_opens_for_its_type_and_its_keys_alone(world: World) -> None:
    trusted = world.refresh()
    signed = world.repository.sign_envelope(b"a head", HEAD_TYPE)
    assert open_envelope(signed, HEAD_TYPE, trusted.phrases) == b"a head"
    with pytest.raises(YaoheError):
        open_envelope(signed, JOB_TYPE, trusted.phrases)
    with pytest.raises(YaoheError):
        open_envelope(signed, HEAD_TYPE, trusted.packs)
    forged = json.loads(signed) | {"payload": "YSBoZWFk" + "IQ=="}
    with pytest.raises(YaoheError):
        open_envelope(json.dumps(forged).encode(), HEAD_TYPE, trusted.phrases)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{}",
        b"[]",
        b'{"payloadType":"x","payload":"","signatures":[]}',
        b'{"payloadType":"application/vnd.yaohe.catalogue-head+cbor","payload":1,'
        b'"signatures":[]}',
        b'{"payloadType":"application/vnd.yaohe.catalogue-head+cbor","payload":"",'
        b'"signatures":[1]}',
        b'{"payloadType":"application/vnd.yaohe.catalogue-head+cbor","payload":"",'
        b'"signatures":[{"sig":"!"}]}',
        b'{"payloadType":"application/vnd.yaohe.catalogue-head+cbor","payload":"",'
        b'"signatures":[{"sig":[],"keyid":{}}]}',
    ],
)
def test_broken_envelope_is_refused_with_one_error(world: World, damage: bytes) -> None:
    with pytest.raises(YaoheError) as caught:
        open_envelope(damage, HEAD_TYPE, world.refresh().phrases)
    assert caught.value.code == "pack_invalid"
