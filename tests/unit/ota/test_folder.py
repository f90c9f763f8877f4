"""Packs from a folder: what is signed speaks, what is not never does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope

from common.errors import YaoheError
from common.text import read
from common.trust.envelope import Keyring
from common.trust.packs import pack_keyring
from common.trust.roles import PACK_TYPE
from common.voice.pack import load_pack
from distill import signing
from edge.ota.folder import install
from edge.ota.refusal import Busy, NoRoom, Refused
from edge.ota.trial import try_out
from tests.unit.ota.conftest import Shop, SignedPack
from tests.unit.ota.tinypack import PHRASE, make_pack, manifest_name

MAN = ("man", "zh")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def refused(shop: Shop, folder: Path, keyring: Keyring) -> str:
    with pytest.raises(Refused) as caught:
        install(folder, keyring, shop.updater)
    assert caught.value.code == "pack_invalid"
    assert caught.value.as_body()["error"]["data"]["reason"] == caught.value.reason
    return caught.value.reason


def test_signed_pack_is_installed_and_speaks(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    loaded = install(folder, keyring, shop.updater)
    assert loaded is not None
    assert loaded.name == "hum@1.0.0"
    assert loaded.is_verified
    (update,) = shop.ledger.all()
    assert (update.state, update.boots, update.pack) == ("committed", 1, loaded.sha256)
    pack = shop.speaking[MAN]
    assert list(pack.voice.speak(read(PHRASE).symbols, voice="man"))


def test_same_pack_again_changes_nothing(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    install(folder, keyring, shop.updater)
    before = (shop.files(), shop.ledger.generation(), shop.ledger.all())
    for _ in range(10):
        assert install(folder, keyring, shop.updater) is None
    assert (shop.files(), shop.ledger.generation(), shop.ledger.all()) == before


def test_newer_version_takes_over_and_the_one_before_is_kept(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folders = [signed_pack(version) for version in ("1.0.0", "1.1.0", "2.0.0")]
    for folder in folders:
        install(folder, keyring, shop.updater)
    (slot,) = shop.ledger.slots()
    assert slot[2:] == (manifest_name(folders[2]), manifest_name(folders[1]))
    trees = {path.name for path in (shop.data / "packs" / "trees").iterdir()}
    assert trees == set(slot[2:])


def test_files_that_two_packs_share_lie_on_the_disk_once(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    for version in ("1.0.0", "1.1.0"):
        install(signed_pack(version), keyring, shop.updater)
    blobs = list((shop.data / "packs" / "blobs").iterdir())
    assert len(blobs) == 3 + 2 + 2
    assert sorted(path.stat().st_nlink for path in blobs) == [2, 2, 2, 2, 3, 3, 3]


def test_one_flipped_byte_is_refused_and_the_good_pack_speaks(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    install(signed_pack(), keyring, shop.updater)
    newer = signed_pack("1.1.0")
    flip(newer / "padding.bin")
    assert refused(shop, newer, keyring) == "damaged"
    assert shop.names == {MAN: "hum@1.0.0"}
    assert len([f for f in shop.files() if f.startswith("trees")]) == 5
    assert not [f for f in shop.files() if f.startswith("parts")]


def test_flipped_byte_in_the_manifest_is_a_bad_signature(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    flip(folder / "manifest.json")
    assert refused(shop, folder, keyring) == "bad_signature"
    assert shop.ledger.all() == []


def test_pack_that_another_chain_signed_is_refused(
    shop: Shop, keyring: Keyring, tmp_path: Path
) -> None:
    signing.keygen(tmp_path / "others")
    folder = make_pack(tmp_path / "pack")
    signing.sign_pack(folder, tmp_path / "others")
    assert refused(shop, folder, keyring) == "bad_signature"


def test_pack_signed_by_an_online_key_is_refused(
    shop: Shop, keyring: Keyring, keys: Path, tmp_path: Path
) -> None:
    online = signing._signer(keys / "online" / "phrases.pem")
    folder = make_pack(tmp_path / "pack")
    envelope = Envelope((folder / "manifest.json").read_bytes(), PACK_TYPE, {})
    envelope.sign(online)
    (folder / "manifest.dsse.json").write_text(json.dumps(envelope.to_dict()))
    assert refused(shop, folder, keyring) == "bad_signature"


def test_pack_without_a_signature_is_refused(
    shop: Shop, keyring: Keyring, tmp_path: Path
) -> None:
    assert refused(shop, make_pack(tmp_path / "pack"), keyring) == "bad_signature"


def test_older_version_is_refused_however_well_it_is_signed(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    old = signed_pack("1.9.0")
    install(signed_pack("1.10.0"), keyring, shop.updater)
    assert refused(shop, old, keyring) == "older_version"
    assert shop.names == {MAN: "hum@1.10.0"}
    shop.updater.remove("hum")
    assert refused(shop, old, keyring) == "older_version"


def test_missing_file_is_refused_as_damaged(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    (folder / "padding.bin").unlink()
    assert refused(shop, folder, keyring) == "damaged"


def test_pack_that_cannot_be_heard_is_refused_and_the_good_one_speaks(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    good = signed_pack()
    install(good, keyring, shop.updater)
    golden = json.loads((good / "manifest.json").read_text())["golden"]
    golden[0]["duration_ms"] += 500
    bad = signed_pack("1.1.0", golden=golden)
    assert refused(shop, bad, keyring) == "trial_failed"
    assert shop.names == {MAN: "hum@1.0.0"}
    update = shop.ledger.find(manifest_name(bad))
    assert update is not None
    assert (update.state, update.reason) == ("rolled_back", "trial_failed")


def test_pack_whose_graph_crashes_the_runtime_is_refused(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("a graph of hell")

    shop.updater._try_out = crash  # type: ignore[assignment]
    assert refused(shop, signed_pack(), keyring) == "trial_failed"


def test_pack_that_takes_the_process_down_twice_is_refused(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    class Down(BaseException):
        pass

    def fall(*_: object) -> None:
        raise Down

    folder = signed_pack()
    shop.updater._try_out = fall  # type: ignore[assignment]
    for _ in range(2):
        with pytest.raises(Down):
            install(folder, keyring, shop.updater)
    shop.updater._try_out = try_out
    assert refused(shop, folder, keyring) == "trial_crashed"
    # A person may have it tried once more.
    assert install(folder, keyring, shop.updater) is not None


def test_pack_for_another_symbol_table_is_refused(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack(symbols={"version": 99, "size": 128})
    assert refused(shop, folder, keyring) == "unfit"


def test_dialect_pack_without_its_base_is_refused(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack(requires={"acoustic": "a" * 64})
    assert refused(shop, folder, keyring) == "base_missing"


def test_full_disk_is_no_fault_of_the_pack(
    shop: Shop,
    keyring: Keyring,
    signed_pack: SignedPack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = signed_pack()
    with monkeypatch.context() as patch:
        patch.setattr(shop.updater.depot, "free_bytes", lambda: 1000)
        with pytest.raises(NoRoom):
            install(folder, keyring, shop.updater)
    (update,) = shop.ledger.all()
    assert (update.state, "needs" in update.detail) == ("offered", True)
    assert install(folder, keyring, shop.updater) is not None
    assert shop.ledger.all()[0].detail == ""


def test_two_processes_do_not_install_at_once(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    with shop.updater.depot.lock(), pytest.raises(Busy):
        install(folder, keyring, shop.updater)
    assert install(folder, keyring, shop.updater) is not None


def test_removed_pack_gives_its_place_to_the_one_before(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    install(signed_pack(), keyring, shop.updater)
    newer = signed_pack("1.1.0")
    install(newer, keyring, shop.updater)
    assert shop.updater.remove("hum@1.1.0").reason == ""
    assert shop.names == {MAN: "hum@1.0.0"}
    assert install(newer, keyring, shop.updater) is not None
    shop.updater.remove("hum")
    shop.updater.remove("hum")
    assert shop.names == {}
    assert shop.files() == []
    with pytest.raises(YaoheError, match="no pack hum"):
        shop.updater.remove("hum")


def test_pack_in_use_that_rots_gives_way_to_the_one_before(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    install(signed_pack(), keyring, shop.updater)
    newer = signed_pack("1.1.0")
    install(newer, keyring, shop.updater)
    flip(shop.updater.depot.tree(manifest_name(newer)) / "padding.bin")
    assert shop.names == {MAN: "hum@1.0.0"}


def test_ledger_that_was_lost_is_filled_again_from_what_is_on_the_disk(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    folder = signed_pack()
    install(folder, keyring, shop.updater)
    shop.ledger.close()
    for path in shop.data.glob("ota.db*"):
        path.unlink()
    again = Shop.open(shop.data)
    assert again.names == {}
    # Of the folder only the manifest and its signature are needed now.
    (folder / "padding.bin").unlink()
    assert install(folder, keyring, again.updater) is not None
    assert again.names == {MAN: "hum@1.0.0"}
    again.ledger.close()


def test_pack_loads_by_its_signature_alone(
    keyring: Keyring, chain_keys: Path, signed_pack: SignedPack, tmp_path: Path
) -> None:
    folder = signed_pack()
    assert load_pack(folder, trusted=False, keyring=keyring).label == "hum@1.0.0"
    signing.keygen(tmp_path / "others")
    others = pack_keyring(signing.newest(tmp_path / "others", "root").to_bytes())
    with pytest.raises(YaoheError, match="signed envelope"):
        load_pack(folder, trusted=False, keyring=others)
    shutil.copy(chain_keys / "metadata" / "1.root.json", folder / "manifest.dsse.json")
    with pytest.raises(YaoheError):
        load_pack(folder, trusted=False, keyring=keyring)
    (folder / "manifest.dsse.json").unlink()
    with pytest.raises(YaoheError, match="dsse"):
        load_pack(folder, trusted=False, keyring=keyring)
