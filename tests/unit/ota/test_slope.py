"""Twenty switches cost no memory and no open file."""

from __future__ import annotations

import gc

import psutil
import pytest

from common.trust.envelope import Keyring
from edge.ota.folder import install
from edge.ota.slots import Slots
from tests.unit.ota.conftest import Shop, SignedPack

SWITCHES = 20
WARM = 5
ROOM_BYTES = 6 << 20
"""Packs of 140 KB whose networks stayed loaded would take more."""


@pytest.mark.slow
def test_twenty_switches_keep_memory_and_files_where_they_were(
    shop: Shop, keyring: Keyring, signed_pack: SignedPack
) -> None:
    process = psutil.Process()
    slots = Slots(shop.ledger, shop.updater.depot, shop.updater.bases)
    seen: list[tuple[int, int]] = []
    for number in range(SWITCHES + WARM):
        install(signed_pack(f"1.{number}.0"), keyring, shop.updater)
        (pack,) = slots.load().values()
        assert pack.name == f"hum@1.{number}.0"
        gc.collect()
        seen.append((process.memory_info().rss, process.num_fds()))
    assert seen[-1][0] - seen[WARM][0] < ROOM_BYTES
    assert seen[-1][1] == seen[WARM][1]
    # Only the pack that speaks and the one before it lie on the disk.
    assert len(shop.files()) == 2 * 5 + 3 + 2 * 2
