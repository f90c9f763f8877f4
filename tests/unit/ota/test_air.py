"""Packs over the air: jobs, trust and chunks, by a line that loses, doubles and lies."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope

from common.errors import YaoheError
from common.protocol import reports
from common.protocol.job import PackJob
from common.protocol.repair import CHUNK_BYTES
from common.trust.roles import JOB_TYPE
from distill import signing
from edge.ota import download
from edge.ota.refusal import Refused
from tests.unit.ota.airs import SCOPE, Box, Chunk, Cloud, pump, shuffled
from tests.unit.ota.tinypack import make_pack, manifest_name

MAN = ("man", "zh")
DAY_S = 24 * 3600.0


@pytest.fixture
def cloud(tmp_path: Path, keys: Path) -> Cloud:
    return Cloud(tmp_path, keys)


@pytest.fixture
async def box(tmp_path: Path, cloud: Cloud) -> AsyncIterator[Box]:
    started = Box(tmp_path / "box", cloud).start()
    yield started
    await started.stop()


async def sent(box: Box, scope: str = SCOPE) -> None:
    """Everything that is signed reaches the box."""
    await box.desk.trust_changed(box.trusted())
    await box.desk.take_job(scope, box.cloud.job(scope))


async def installed(box: Box, version: str = "1.0.0") -> Path:
    folder = box.cloud.make(version)
    box.cloud.publish(folder)
    await sent(box)
    await pump(box, lambda: box.names == {MAN: f"hum@{version}"})
    return folder


async def test_pack_comes_over_the_air_and_speaks_without_a_restart(
    box: Box, cloud: Cloud
) -> None:
    folder = await installed(box)
    update = box.update(folder)
    assert update is not None
    assert update.state == "committed"
    assert [(t["pack"], t["state"]) for t in box.told] == [("hum@1.0.0", "committed")]
    assert box.speaking[MAN].is_verified


async def test_chunks_that_come_swapped_and_twice_do_no_harm(
    box: Box, cloud: Cloud
) -> None:
    cloud.publish(cloud.make())
    await sent(box)
    await pump(box, lambda: box.names, shuffled)
    assert box.names == {MAN: "hum@1.0.0"}


async def test_chunks_that_are_lost_are_asked_for_again(
    box: Box, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "PATIENCE_S", 0.05)
    cloud.publish(cloud.make())
    await sent(box)
    await pump(box, lambda: box.names, lambda chunks: chunks[1:] or chunks)
    assert box.asks > 2


async def test_job_replayed_ten_times_is_no_news(box: Box, cloud: Cloud) -> None:
    await installed(box)
    before, asks = box.ota.updates(), box.asks
    for _ in range(10):
        await sent(box)
    await pump(box, lambda: True)
    assert (box.ota.updates(), box.asks) == (before, asks)
    assert len(box.told) == 1


async def test_same_pack_under_a_new_label_is_no_news(box: Box, cloud: Cloud) -> None:
    """The same manifest stands in another scope's job too, as another attempt."""
    folder = await installed(box)
    cloud.publish(folder, "g/south")
    cloud.publish(folder, "g/south")
    before = box.ota.updates()
    await sent(box, "g/south")
    assert box.ota.updates() == before


async def test_pack_whose_bytes_are_flipped_is_refused_and_remembered(
    box: Box, cloud: Cloud
) -> None:
    await installed(box)
    newer = cloud.make("1.1.0")
    cloud.publish(newer)
    await sent(box)

    def flip(chunks: list[Chunk]) -> list[Chunk]:
        return [
            (name, i, content[:-1] + bytes([content[-1] ^ 1]))
            for name, i, content in chunks
            if name != manifest_name(newer)
        ] + [chunk for chunk in chunks if chunk[0] == manifest_name(newer)]

    await pump(box, lambda: len(box.told) == 2, flip)
    assert box.told[-1]["reason"] == "damaged"
    assert box.names == {MAN: "hum@1.0.0"}

    # The same job again, honest bytes or not, starts nothing.
    asks = box.asks
    await sent(box)
    assert box.desk.refusals[cloud.packs.wanted(SCOPE)[0].path].reason == "blocked"
    await pump(box, lambda: True)
    assert box.asks == asks

    # A person asks for another attempt.
    cloud.publish(newer)
    await sent(box)
    await pump(box, lambda: box.names == {MAN: "hum@1.1.0"})
    assert box.desk.refusals == {}


async def test_pack_that_the_offline_keys_did_not_sign_is_refused(
    box: Box, cloud: Cloud
) -> None:
    """The online key can sign a job for anything; it brings no voice all the same."""
    good = cloud.publish(cloud.make())
    false = good.model_copy(update={"sha256": "f" * 64})
    cloud.packs.want(SCOPE, false)
    await sent(box)
    assert [r.reason for r in box.desk.refusals.values()] == ["not_signed"]
    unknown = good.model_copy(update={"path": "packs/evil/1.0.0/manifest.json"})
    cloud.packs.want(SCOPE, unknown)
    await sent(box)
    assert {r.reason for r in box.desk.refusals.values()} == {"not_signed"}
    assert box.ota.updates() == []


async def test_cloud_publishes_only_what_the_offline_keys_signed(
    cloud: Cloud, tmp_path: Path
) -> None:
    with pytest.raises(YaoheError, match="not among"):
        cloud.packs.publish(make_pack(tmp_path / "pack"))
    folder = cloud.make()
    (folder / "padding.bin").write_bytes(b"other")
    with pytest.raises(YaoheError, match="not the file"):
        cloud.packs.publish(folder)


async def test_job_signed_by_another_key_is_refused(box: Box, cloud: Cloud) -> None:
    cloud.publish(cloud.make())
    await box.desk.trust_changed(box.trusted())
    job = Envelope.from_dict(json.loads(cloud.job()))
    forged = Envelope(job.payload, JOB_TYPE, {})
    forged.sign(signing._signer(cloud.keys / "online" / "timestamp.pem"))
    with pytest.raises(YaoheError, match="signed envelope"):
        await box.desk.take_job(SCOPE, json.dumps(forged.to_dict()).encode())
    assert box.ota.updates() == []


async def test_job_of_another_scope_or_chain_is_refused(box: Box, cloud: Cloud) -> None:
    cloud.publish(cloud.make())
    await box.desk.trust_changed(box.trusted())
    with pytest.raises(YaoheError, match="another place"):
        await box.desk.take_job("g/south", cloud.job())
    other = PackJob(chain="coffee", scope=SCOPE, issued=1, targets=1, packs=[])
    signed = cloud.office.repository.sign_envelope(reports.encode(other), JOB_TYPE)
    with pytest.raises(YaoheError, match="another place"):
        await box.desk.take_job(SCOPE, signed)


async def test_job_that_comes_before_its_metadata_waits_for_it(
    box: Box, cloud: Cloud
) -> None:
    await box.desk.trust_changed(box.trusted())
    old = box.trusted()
    cloud.publish(cloud.make())
    await box.desk.trust_changed(old)
    await box.desk.take_job(SCOPE, cloud.job())
    assert box.ota.updates() == []
    assert box.desk.refusals == {}
    await box.desk.trust_changed(box.trusted())
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"})


async def test_older_version_is_refused(box: Box, cloud: Cloud) -> None:
    old = cloud.make("1.0.0")
    await installed(box, "2.0.0")
    cloud.publish(old)
    await sent(box)
    assert [r.reason for r in box.desk.refusals.values()] == ["older_version"]
    assert box.names == {MAN: "hum@2.0.0"}


async def test_rolled_back_repository_brings_no_older_pack(
    box: Box, cloud: Cloud, tmp_path: Path
) -> None:
    """An attacker replays the metadata of a week ago, and empties the box's cache."""
    old = cloud.make("1.0.0")
    cloud.publish(old)
    shutil.copytree(cloud.folder / "cloud" / "fleet" / "trust", tmp_path / "old")
    old_job = cloud.job()
    await installed(box, "2.0.0")
    shutil.rmtree(box.data / "trust")
    shutil.rmtree(cloud.folder / "cloud" / "fleet" / "trust")
    shutil.copytree(tmp_path / "old", cloud.folder / "cloud" / "fleet" / "trust")
    with pytest.raises(YaoheError, match="went back"):
        box.trusted()
    await box.desk.take_job(SCOPE, old_job)
    assert box.names == {MAN: "hum@2.0.0"}
    assert [r.reason for r in box.desk.refusals.values()] == ["older_version"]


async def test_mixed_and_matched_metadata_brings_no_pack(
    box: Box, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Targets that the offline keys signed, under a snapshot that does not name them."""
    before = dict(cloud.office.repository.files())
    cloud.publish(cloud.make())
    now = dict(cloud.office.repository.files())
    mixed = {**before, **{n: c for n, c in now.items() if "targets" in n}}
    monkeypatch.setattr(cloud, "metadata", mixed.get)
    await box.desk.trust_changed(box.trusted())
    await box.desk.take_job(SCOPE, cloud.job())
    assert box.ota.updates() == []


@pytest.mark.parametrize("wall_s", [0.0, -1.0], ids=["1970", "thirty days ahead"])
async def test_wrong_clock_does_not_keep_a_pack_away(
    box: Box, cloud: Cloud, wall_s: float
) -> None:
    floor = box.trusted().issued
    wall = wall_s if wall_s >= 0 else time.time() + 30 * DAY_S
    cloud.publish(cloud.make())
    from common.trust.updater import TrustUpdater

    updater = TrustUpdater(box.data / "trust", box.bootstrap, cloud, box.marks)
    await box.desk.trust_changed(updater.refresh(wall, floor))
    await box.desk.take_job(SCOPE, cloud.job())
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"})


async def test_clock_that_jumps_in_mid_update_changes_nothing(
    box: Box, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.publish(cloud.make())
    await sent(box)
    await pump(box, lambda: False, limit=2)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"})


async def test_box_that_restarts_goes_on_with_what_it_has(
    tmp_path: Path, cloud: Cloud
) -> None:
    box = Box(tmp_path / "box", cloud).start()
    folder = cloud.make(padding=100 * CHUNK_BYTES)
    cloud.publish(folder)
    await sent(box)
    # The manifest, the graphs, and then more than one checkpoint of the padding.
    await pump(box, lambda: False, limit=70)
    await box.stop()
    box.start()
    counted: list[int] = []

    def count(chunks: list[Chunk]) -> list[Chunk]:
        counted.append(len(chunks))
        return chunks

    # The job need not come again.
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"}, count)
    assert sum(counted) < 80
    await box.stop()


async def test_part_file_that_lies_is_found_out(tmp_path: Path, cloud: Cloud) -> None:
    """Hints claim chunks that the file does not hold any more."""
    box = Box(tmp_path / "box", cloud).start()
    cloud.publish(cloud.make(padding=100 * CHUNK_BYTES))
    await sent(box)
    await pump(box, lambda: False, limit=70)
    await box.stop()
    for path in (box.data / "packs" / "parts").iterdir():
        path.write_bytes(bytes(path.stat().st_size // 2))
    box.start()
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"})
    await box.stop()


async def test_pack_that_another_process_installs_speaks_too(
    box: Box, cloud: Cloud
) -> None:
    from edge.ota.folder import install
    from tests.unit.ota.conftest import Shop

    other = Shop.open(box.data)
    install(cloud.make(), box.trusted().packs, other.updater)
    other.ledger.close()
    await pump(box, lambda: box.names == {MAN: "hum@1.0.0"})


async def test_first_pack_ever_that_fails_leaves_the_box_as_it_was(
    tmp_path: Path, cloud: Cloud
) -> None:
    def fail(*_: object) -> Any:
        raise Refused("trial_failed", "it squeaks")

    box = Box(tmp_path / "box", cloud)
    box.options = {"hear": fail}
    box.start()
    cloud.publish(cloud.make())
    await sent(box)
    await pump(box, lambda: box.told)
    assert box.told[0]["reason"] == "trial_failed"
    assert box.names == {}
    assert not list((box.data / "packs" / "trees").iterdir())
    await box.stop()


async def test_two_packs_for_two_voices_speak_side_by_side(
    box: Box, cloud: Cloud
) -> None:
    cloud.publish(cloud.make())
    cloud.publish(cloud.make(name="choir", voices=("woman", "child")))
    await sent(box)
    await pump(box, lambda: len(box.names) == 3)
    assert box.names[("child", "zh")] == "choir@1.0.0"
    assert box.names[MAN] == "hum@1.0.0"
