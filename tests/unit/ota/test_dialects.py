"""Dialect packs come like any other, and stand on what is here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from common.text import read
from common.trust.envelope import Keyring
from common.voice.speak import Speaker
from edge.ota.folder import install
from edge.ota.refusal import NoBase, Refused
from tests.unit.ota.airs import SCOPE, Box, Cloud, pump
from tests.unit.ota.conftest import Shop, SignedPack
from tests.unit.ota.tinypack import PHRASE, make_pack, manifest_name

ZH, SC = ("man", "zh"), ("man", "sc")


def networks(shop: Shop) -> list[Any]:
    """The networks of all that speaks."""
    voices = [pack.voice for pack in shop.speaking.values()]
    return [voice._networks for voice in voices if isinstance(voice, Speaker)]


def reason(shop: Shop, folder: Path, keyring: Keyring) -> Refused:
    with pytest.raises(Refused) as caught:
        install(folder, keyring, shop.updater)
    return caught.value


def test_a_dialect_comes_beside_the_voice_and_speaks_with_its_weights(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    voice = signed_pack()
    install(voice, keyring, shop.updater)
    loaded = install(signed_pack(name="hum-sc", base=voice), keyring, shop.updater)
    assert loaded is not None
    assert loaded.is_verified
    assert shop.names == {ZH: "hum@1.0.0", SC: "hum-sc@1.0.0"}
    assert len(set(map(id, networks(shop)))) == 1
    symbols = read(PHRASE, "sc").symbols
    assert list(shop.speaking[SC].voice.speak(symbols, voice="man", dialect="sc"))


def test_after_a_restart_both_are_there_and_weights_are_loaded_once(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    voice = signed_pack()
    install(voice, keyring, shop.updater)
    install(signed_pack(name="hum-sc", base=voice), keyring, shop.updater)
    again = shop.reopened()
    assert again.names == {ZH: "hum@1.0.0", SC: "hum-sc@1.0.0"}
    assert len(set(map(id, networks(again)))) == 1
    again.ledger.close()


def test_it_may_stand_on_a_pack_of_the_boxs_own(
    tmp_path: Path, keyring: Keyring, signed_pack: SignedPack
) -> None:
    own = make_pack(tmp_path / "own", "0.1.0")
    shop = Shop.open(tmp_path / "box", own=[own])
    install(signed_pack(name="hum-sc", base=own), keyring, shop.updater)
    assert shop.names == {SC: "hum-sc@1.0.0"}
    shop.ledger.close()


def test_without_its_base_it_is_refused_and_says_which(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack, tmp_path: Path
) -> None:
    strange = make_pack(tmp_path / "strange", "7.0.0")
    folder = signed_pack(name="hum-sc", base=strange)
    refusal = reason(shop, folder, keyring)
    assert refusal.reason == "base_missing"
    assert "hum-sc@1.0.0 stands on pack" in refusal.message
    assert not shop.names


def test_a_table_that_is_none_fails_its_trial(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    voice = signed_pack()
    install(voice, keyring, shop.updater)
    folder = signed_pack(name="hum-sc", base=voice, contours="padding.bin")
    assert reason(shop, folder, keyring).reason == "trial_failed"
    assert shop.names == {ZH: "hum@1.0.0"}


def test_what_it_stands_on_stays_however_many_voices_follow(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    voice = signed_pack()
    install(voice, keyring, shop.updater)
    install(signed_pack(name="hum-sc", base=voice), keyring, shop.updater)
    for version in ("2.0.0", "3.0.0", "4.0.0"):
        newest = signed_pack(version)
        install(newest, keyring, shop.updater)
    assert shop.names == {ZH: "hum@4.0.0", SC: "hum-sc@1.0.0"}
    # A dialect on the new voice, twice: nobody needs the first voice any more.
    for version in ("2.0.0", "3.0.0"):
        later = signed_pack(version, name="hum-sc", base=newest)
        install(later, keyring, shop.updater)
    trees = {path.name for path in (shop.data / "packs" / "trees").iterdir()}
    assert manifest_name(voice) not in trees
    assert shop.names == {ZH: "hum@4.0.0", SC: "hum-sc@3.0.0"}


def test_a_base_that_a_person_removed_takes_its_dialect_along(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    voice = signed_pack()
    install(voice, keyring, shop.updater)
    install(signed_pack(name="hum-sc", base=voice), keyring, shop.updater)
    shop.updater.remove("hum")
    again = shop.reopened()
    assert again.names == {}
    again.ledger.close()


@pytest.fixture
async def box(tmp_path: Path, keys: Path) -> AsyncIterator[Box]:
    started = Box(tmp_path / "box", Cloud(tmp_path, keys)).start()
    yield started
    await started.stop()


async def sent(box: Box) -> None:
    await box.desk.trust_changed(box.trusted())
    await box.desk.take_job(SCOPE, box.cloud.job(SCOPE))


async def test_over_the_air_it_waits_for_the_voice_that_comes_with_it(
    box: Box,
) -> None:
    voice = box.cloud.make(padding=0)
    dialect = box.cloud.make(name="hum-sc", base=voice)
    box.cloud.publish(dialect)
    box.cloud.publish(voice)
    await sent(box)
    await pump(box, lambda: len(box.names) == 2)
    assert box.names == {ZH: "hum@1.0.0", SC: "hum-sc@1.0.0"}


async def test_over_the_air_it_is_refused_where_its_voice_never_was(
    box: Box, tmp_path: Path
) -> None:
    strange = make_pack(tmp_path / "strange", "7.0.0", padding=0)
    dialect = box.cloud.make(name="hum-sc", base=strange)
    box.cloud.publish(dialect)
    await sent(box)
    await pump(box, lambda: box.told)
    told = box.told[-1]
    assert (told["state"], told["reason"]) == ("rolled_back", "base_missing")
    # The voice comes, and somebody asks for the dialect once more.
    box.cloud.sign(strange)
    box.cloud.publish(strange)
    box.cloud.publish(dialect)
    await sent(box)
    await pump(box, lambda: len(box.names) == 2)
    assert box.names == {ZH: "hum@7.0.0", SC: "hum-sc@1.0.0"}


def test_waiting_for_a_base_is_no_refusal() -> None:
    assert NoBase("a stands on b").code == "not_ready"
    assert json.dumps(NoBase("a stands on b").as_body())
