"""A pack install killed before every write, sync and rename, and with a full disk.

After each: the box speaks, the old pack or the new one and never half; the same install
again ends with the new one, and nothing is left lying about.
"""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from common.protocol.manifest import parse_manifest
from common.text import read
from common.trust.packs import pack_keyring
from distill import signing
from edge.ota.folder import install
from tests.unit.ota import victim
from tests.unit.ota.conftest import Shop
from tests.unit.ota.tinypack import PHRASE, make_pack, manifest_name
from tests.unit.ota.victim import Point, Tracer

pytestmark = pytest.mark.slow
MAN = ("man", "zh")
OLD, NEW = "hum@1.0.0", "hum@1.1.0"
GROUPS = ("files", "ledger")


class Scene:
    """A box with an old pack, and a new one beside it."""

    def __init__(self, folder: Path, keys: Path) -> None:
        self.folder, self.data = folder, folder / "shop"
        self.root = signing.newest(keys, "root").to_bytes()
        old = make_pack(folder / "old", "1.0.0")
        self.pack = make_pack(folder / "new", "1.1.0")
        for each in (old, self.pack):
            signing.sign_pack(each, keys)
        shop = Shop.open(self.data)
        install(old, pack_keyring(self.root), shop.updater)
        shop.ledger.close()
        self.data.rename(folder / "before")
        content = (self.pack / "manifest.json").read_bytes()
        files = parse_manifest(content).files
        blobs = [file.sha256 for file in files.values()]
        name = manifest_name(self.pack)
        self.paths = {
            "files": victim.paths_of(
                self.data, [*blobs, name], name, [*files, "manifest.json"]
            ),
            "ledger": victim.ledger_paths(self.data),
        }
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([victim.__name__])

    def reset(self) -> None:
        """The box as it was, links and all."""
        subprocess.run(["rm", "-rf", str(self.data)], check=True)
        subprocess.run(
            ["cp", "-a", str(self.folder / "before"), str(self.data)], check=True
        )

    def run(self, group: str, inject: str | None) -> int:
        """Install in another process; gives its exit code."""
        self.reset()
        ours, theirs = self._context.Pipe()
        child = self._context.Process(
            target=victim.run, args=(self.data, self.pack, self.root, theirs)
        )
        child.start()
        assert child.pid is not None
        tracer = Tracer(child.pid, self.paths[group], self.log, inject)
        ours.send(None)
        child.join(victim.PATIENCE_S)
        tracer.wait()
        assert child.exitcode is not None
        ours.close()
        theirs.close()
        return child.exitcode

    @property
    def log(self) -> Path:
        return self.folder / "strace.log"

    def points(self, group: str) -> list[Point]:
        assert self.run(group, None) == 0
        found = victim.points(self.log)
        assert found
        return found

    def check(self, at: Point) -> None:
        """It speaks, old or new; then it converges."""
        shop = Shop.open(self.data)
        try:
            speaking = shop.speaking
            assert {pair: pack.name for pair, pack in speaking.items()} in (
                {MAN: OLD},
                {MAN: NEW},
            ), at
            sound = list(speaking[MAN].voice.speak(read(PHRASE).symbols, voice="man"))
            assert sum(chunk.size for chunk in sound), at
            install(self.pack, pack_keyring(self.root), shop.updater)
            assert shop.names == {MAN: NEW}, at
            assert [u.state for u in shop.ledger.all()] == ["committed"] * 2, at
            shop.updater.tidy()
            left = [f for f in shop.files() if f.endswith(".part") or "parts" in f]
            assert left == [], at
            (slot,) = shop.ledger.slots()
            assert slot.previous, at
        finally:
            shop.ledger.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, chain_keys: Path) -> Scene:
    folder = tmp_path_factory.mktemp("faults")
    shutil.copytree(chain_keys, folder / "keys")
    return Scene(folder, folder / "keys")


@pytest.mark.parametrize("group", GROUPS)
def test_killed_before_any_call_it_speaks_and_converges(
    scene: Scene, group: str
) -> None:
    found = scene.points(group)
    kinds = {point.call for point in found}
    expected = {"pwrite64", "fdatasync"}
    assert kinds >= (
        expected | {"fsync", "rename", "link"} if group == "files" else expected
    )
    for at in found:
        code = scene.run(group, f"{at.call}:signal=KILL:when={at.number}")
        assert code == -signal.SIGKILL, at
        scene.check(at)


@pytest.mark.parametrize("group", GROUPS)
def test_disk_full_from_any_write_on_refuses_nothing_for_good(
    scene: Scene, group: str
) -> None:
    kinds = ("write", "pwrite64", "fallocate", "fsync", "fdatasync", "mkdir", "link")
    for at in scene.points(group):
        if at.call in kinds:
            code = scene.run(group, f"{at.call}:error=ENOSPC:when={at.number}+")
            assert code in (0, victim.NOT_NOW), at
            scene.check(at)
