from __future__ import annotations

from pathlib import Path

import pytest

from common.voice.bases import Bases, among
from common.voice.runtime import Runtime
from edge import doctor
from edge.clock import Clock
from edge.packs import own_directories
from edge.settings import CacheSettings, EdgeSettings
from tests.unit.edge.tiny import TinyVoice, pack


def verdicts(settings: EdgeSettings, clock: Clock | None = None) -> dict[str, str]:
    return {check.name: check.verdict for check in doctor.look(settings, clock)}


def test_a_healthy_box_is_all_ok(tmp_path: Path) -> None:
    settings = EdgeSettings(data=tmp_path, cache=CacheSettings(min_free_bytes=0))
    found = verdicts(settings)
    assert {found[name] for name in ("packages", "opus", "reading", "disk")} == {"ok"}


def test_a_package_of_the_same_name_elsewhere_is_named() -> None:
    check = doctor.packages(["common", "json"])
    assert check.verdict == "fail"
    assert "'json'" in check.says


def test_a_package_that_is_not_there_is_named() -> None:
    assert "nowhere" in doctor.packages(["nobody_has_this"]).says


def test_two_runtimes_at_once_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Runtime("1.0", ("cpu",), ("onnxruntime", "onnxruntime-gpu"))
    monkeypatch.setattr(doctor, "describe", lambda: both)
    assert verdicts(EdgeSettings(data=tmp_path))["runtime"] == "fail"


def test_a_clock_in_1970_is_a_warning_and_no_more(tmp_path: Path) -> None:
    found = verdicts(EdgeSettings(data=tmp_path), Clock(wall=lambda: 0.0))
    assert found["clock"] == "warn"


def test_a_broken_lexicon_is_shown_with_its_line(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"

    def found() -> tuple[str, str]:
        settings = EdgeSettings(data=tmp_path, lexicon=own)
        (check,) = (c for c in doctor.look(settings) if c.name == "lexicon")
        return check.verdict, check.says

    assert found() == ("warn", f"There is no file {own}.")
    own.write_text("说服\tshui4 fu2\n草莓\tno such syllable\n", "utf-8")
    verdict, says = found()
    assert verdict == "warn"
    assert "own.tsv" in says
    assert "2" in says
    own.write_bytes(b"\xff\xfe")
    assert found()[0] == "warn"
    own.write_text("说服\tshui4 fu2\n", "utf-8")
    assert found() == ("ok", "1 of the shop's own words.")
    assert verdicts(EdgeSettings(data=tmp_path))["lexicon"] == "ok"


def test_a_damaged_cache_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"garbage" * 1000)
    assert verdicts(EdgeSettings(data=tmp_path))["cache"] == "warn"


def test_a_full_disk_is_a_warning(tmp_path: Path) -> None:
    full = EdgeSettings(data=tmp_path, cache=CacheSettings(min_free_bytes=10**18))
    assert verdicts(full)["disk"] == "warn"


def test_a_check_that_breaks_is_a_finding_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Runtime:
        raise RuntimeError("odd")

    monkeypatch.setattr(doctor, "describe", broken)
    assert verdicts(EdgeSettings(data=tmp_path))["runtime"] == "fail"


@pytest.mark.parametrize(
    ("pause_s", "verdict"), [(0.0, "ok"), (0.05, "warn"), (0.15, "fail")]
)
def test_a_slow_box_is_told_so(pause_s: float, verdict: str) -> None:
    assert doctor.measure(pack(TinyVoice(pause_s=pause_s))).verdict == verdict


def test_a_silent_voice_fails() -> None:
    assert doctor.measure(pack(TinyVoice(chunks=0))).verdict == "fail"


def test_dialects_are_named_and_one_that_cannot_be_used_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bases = Bases(among(own_directories()))
    check = doctor._dialects(bases)
    assert check.verdict == "ok"
    assert check.says.endswith("speak gd, sc.")
    monkeypatch.setattr("edge.packs.dialect_directories", lambda: (tmp_path,))
    check = doctor._dialects(bases)
    assert check.verdict == "warn"
    assert "gd, sc" in check.says
