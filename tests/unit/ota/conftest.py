"""Parts that the tests of packs share: keys, signed packs, a box without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from common.trust.envelope import Keyring
from common.trust.packs import pack_keyring
from distill import signing
from edge.ota.depot import Depot
from edge.ota.ledger import Ledger
from edge.ota.slots import Slots, Speaking
from edge.ota.trial import try_out
from edge.ota.updater import Updater
from tests.unit.ota.tinypack import make_dialect, make_pack

SignedPack = Callable[..., Path]


@pytest.fixture
def keys(chain_keys: Path, tmp_path: Path) -> Path:
    """This test's copy of the keys."""
    return Path(shutil.copytree(chain_keys, tmp_path / "keys"))


@pytest.fixture
def keyring(chain_keys: Path) -> Keyring:
    return pack_keyring(signing.newest(chain_keys, "root").to_bytes())


@pytest.fixture
def signed_pack(keys: Path, tmp_path: Path) -> SignedPack:
    """Makes a signed pack of a version."""

    def make(version: str = "1.0.0", **options: Any) -> Path:
        label = f"{options.get('name', 'hum')}-{version}"
        make_one = make_dialect if "base" in options else make_pack
        folder = make_one(tmp_path / "made" / label, version, **options)
        signing.sign_pack(folder, keys)
        return folder

    return make


@dataclass
class Shop:
    """A box as far as packs go."""

    data: Path
    ledger: Ledger
    updater: Updater

    @classmethod
    def open(cls, data: Path, **options: Any) -> Shop:
        ledger = Ledger(data / "ota.db")
        ledger.wait_open()
        depot = Depot(data / "packs", min_free_bytes=0)
        parts = {"try_out": try_out} | options
        return cls(data, ledger, Updater(ledger, depot, **parts))

    def reopened(self) -> Shop:
        """The box after a restart."""
        self.ledger.close()
        return Shop.open(self.data)

    @property
    def speaking(self) -> Speaking:
        return Slots(self.ledger, self.updater.depot, self.updater.bases).load()

    @property
    def names(self) -> dict[tuple[str, str], str]:
        """``name@version`` of what really loads, by voice and dialect."""
        return {pair: pack.name for pair, pack in self.speaking.items()}

    def files(self) -> list[str]:
        """Everything that lies in the packs' folder."""
        return sorted(
            str(path.relative_to(self.data / "packs"))
            for path in (self.data / "packs").rglob("*")
            if path.is_file() and path.name != "lock"
        )


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop.open(tmp_path / "shop")
    yield opened
    opened.ledger.close()
