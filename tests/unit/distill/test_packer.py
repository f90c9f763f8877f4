"""Packs: cut from a draft, checked by ear, never half written."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from common.errors import YaoheError
from common.protocol.contours import parse_contours
from common.protocol.manifest import MANIFEST_NAME, Teacher, Voice, parse_manifest
from common.voice.golden import check_golden
from common.voice.pack import load_pack, starter_directory
from common.voice.speak import Speaker
from distill import packer

WHEN = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
GOLDEN = ("欢迎光临。", "今日特价！")


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped voice's graphs as a draft with two voices."""
    folder = tmp_path_factory.mktemp("draft")
    for name in packer.GRAPHS.values():
        shutil.copyfile(starter_directory() / name, folder / name)
    origin = packer.Origin(
        name="t-draft",
        created=WHEN,
        voices={"woman": Voice(speaker=0), "man": Voice(speaker=1)},
        context=load_pack(starter_directory(), trusted=True).manifest.context.left,
        noise_seed=7,
        teacher=Teacher(name="kokoro-82m", licence="Apache-2.0"),
    )
    packer.write_draft(folder, origin)
    return folder


def release(**changes: object) -> packer.Release:
    facts: dict[str, object] = {
        "name": "t-woman",
        "version": "1.2.3",
        "voices": ("woman",),
        "golden": GOLDEN,
        "quality": 60,
    }
    return packer.Release(**{**facts, **changes})  # type: ignore[arg-type]


def test_a_pack_says_who_it_is_and_speaks_its_golden_phrases(
    draft: Path, tmp_path: Path
) -> None:
    made = packer.pack(draft, release(), tmp_path / "woman")
    assert made.label == "t-woman@1.2.3"
    manifest = made.manifest
    assert list(manifest.voices) == ["woman"]
    assert (manifest.quality, manifest.noise_seed) == (60, 7)
    assert [(g.text, g.voice) for g in manifest.golden] == [
        (text, "woman") for text in GOLDEN
    ]
    assert all(g.duration_ms > 0 and g.loudness_db < 0 for g in manifest.golden)
    assert manifest.teacher.name == "kokoro-82m"
    assert manifest.licences.weights == "Apache-2.0"
    check_golden(Speaker(load_pack(tmp_path / "woman", trusted=True)))


def test_a_pack_with_two_voices_is_heard_in_both(draft: Path, tmp_path: Path) -> None:
    both = packer.pack(draft, release(voices=("man", "woman")), tmp_path / "both")
    assert list(both.manifest.voices) == ["woman", "man"]
    assert [g.voice for g in both.manifest.golden] == ["man"] * 2 + ["woman"] * 2


def test_the_same_draft_gives_the_same_bytes(draft: Path, tmp_path: Path) -> None:
    one, other = (packer.pack(draft, release(), tmp_path / n) for n in ("a", "b"))
    assert one.sha256 == other.sha256
    for name in (MANIFEST_NAME, *packer.GRAPHS.values()):
        contents = {(tmp_path / n / name).read_bytes() for n in ("a", "b")}
        assert len(contents) == 1


def test_a_newer_pack_takes_the_place_of_an_older_one(
    draft: Path, tmp_path: Path
) -> None:
    target = tmp_path / "woman"
    packer.pack(draft, release(), target)
    newer = packer.pack(draft, release(version="1.3.0"), target)
    assert load_pack(target, trusted=True).sha256 == newer.sha256
    assert [path.name for path in tmp_path.iterdir()] == ["woman"]


def test_packing_again_is_needed_only_when_something_changed(
    draft: Path, tmp_path: Path
) -> None:
    made = packer.pack(draft, release(), tmp_path / "woman")
    assert packer.is_current(made, draft, release())
    for change in ({"version": "2.0.0"}, {"golden": GOLDEN[:1]}, {"quality": 1}):
        assert not packer.is_current(made, draft, release(**change))


def test_a_folder_that_is_no_pack_is_not_replaced(draft: Path, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(YaoheError, match="is no pack"):
        packer.pack(draft, release(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_voice_that_the_draft_lacks_is_named(draft: Path, tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="no voice child in the draft"):
        packer.pack(draft, release(voices=("child",)), tmp_path / "p")


def test_a_pack_above_the_budget_is_refused(
    draft: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packer, "SIZE_BUDGET", 1000)
    with pytest.raises(YaoheError, match="at most"):
        packer.pack(draft, release(), tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_a_golden_phrase_that_cannot_be_said_leaves_nothing_behind(
    draft: Path, tmp_path: Path
) -> None:
    target = tmp_path / "p"
    kept = packer.pack(draft, release(), target)
    with pytest.raises(YaoheError):
        packer.pack(draft, release(golden=("🎉",)), target)
    assert load_pack(target, trusted=True).sha256 == kept.sha256
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_a_damaged_draft_is_not_packed(draft: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(draft, broken)
    graph = broken / packer.GRAPHS["encoder"]
    graph.write_bytes(graph.read_bytes()[:-1] + b"?")
    with pytest.raises(YaoheError, match="not the file that was packed"):
        packer.pack(broken, release(), tmp_path / "p")


def test_a_draft_needs_all_its_graphs(tmp_path: Path) -> None:
    origin = packer.Origin(
        name="d",
        created=WHEN,
        voices={"woman": Voice(speaker=0)},
        context=3,
        noise_seed=1,
        teacher=Teacher(name="someone", licence="CC BY-NC 4.0"),
    )
    with pytest.raises(YaoheError, match="export first"):
        packer.write_draft(tmp_path, origin)


def test_a_student_inherits_a_licence_that_nobody_cleared(
    draft: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    shutil.copytree(draft, folder)
    origin = packer.Origin(
        name="d",
        created=WHEN,
        voices={"woman": Voice(speaker=0)},
        context=36,
        noise_seed=1,
        teacher=Teacher(name="chattts", licence="CC BY-NC 4.0"),
    )
    packer.write_draft(folder, origin)
    manifest = parse_manifest((folder / MANIFEST_NAME).read_bytes())
    assert manifest.licences.weights == "CC BY-NC 4.0"


def test_a_dialect_pack_is_a_table_on_the_weights_of_another(
    draft: Path, tmp_path: Path
) -> None:
    base = packer.pack(draft, release(), tmp_path / "woman")
    wanted = release(name="t-woman-sc", dialect="sc")
    made = packer.pack_dialect(tmp_path / "woman", wanted, tmp_path / "sc")
    manifest = made.manifest
    assert (made.base, manifest.weights) == (base.sha256, {})
    assert manifest.dialects == ["sc"]
    assert {g.dialect for g in manifest.golden} == {"sc"}
    assert manifest.teacher == base.manifest.teacher
    assert sum(file.size for file in manifest.files.values()) < 300_000
    check_golden(Speaker(made, base=Speaker(base)))
    again = packer.pack_dialect(tmp_path / "woman", wanted, tmp_path / "again")
    assert again.sha256 == made.sha256
    assert packer.is_current(made, tmp_path / "woman", wanted)
    packer.pack(draft, release(version="2.0.0"), tmp_path / "woman")
    assert not packer.is_current(made, tmp_path / "woman", wanted)


def test_every_table_names_every_tone_of_its_dialect(
    draft: Path, tmp_path: Path
) -> None:
    tones = {"sc": set("12345"), "gd": set("123456")}
    for dialect, names in tones.items():
        data = (packer.TABLES / f"{dialect}.json").read_bytes()
        assert parse_contours(data).dialects[dialect].tones.keys() == names


def test_a_dialect_without_a_table_is_named(draft: Path, tmp_path: Path) -> None:
    packer.pack(draft, release(), tmp_path / "woman")
    with pytest.raises(YaoheError, match="no table of contours for xx") as refused:
        packer.pack_dialect(tmp_path / "woman", release(dialect="xx"), tmp_path / "xx")
    assert refused.value.code == "unknown_dialect"
