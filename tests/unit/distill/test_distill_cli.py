"""The command line: one clear line for what is wrong, nothing half done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from common.voice.pack import load_pack, starter_directory
from distill import packer, show
from distill.cli import app
from distill.notes import read_note, write_note
from distill.places import Places
from distill.recipe import load_recipe

VERBS = ("corpus", "train", "export", "evaluate", "pack", "run", "status", "judge")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    done = CliRunner().invoke(app, [verb, "--help"])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nobody"], "not_found: no readable recipe nobody"),
        (["train", "shop", "--stage", "dessert"], "no stage dessert"),
        (["evaluate", "shop"], "run the step export"),
        (["evaluate", "shop", "--held", "poems"], "poems"),
        (["export", "shop"], "run the step train"),
        (["pack", "shop"], "run the step export"),
        (["pack", "shop", "--name", "nobody"], "no pack nobody"),
        (["pack", "shop", "--to", "x"], "--to needs --name"),
        (["judge", "none.wav"], "none.wav is no file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_exit_code_2(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    if words[:1] == ["evaluate"] and len(words) > 2:
        words = [*words, "--pack", str(starter_directory())]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("yaohe-distill: ")
    assert said in line


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_THREADS", "many")
    done = CliRunner().invoke(app, ["status", "shop"])
    assert done.exit_code == 2
    assert "YAOHE_DISTILL_THREADS" in done.stderr


def test_status_of_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    done = CliRunner().invoke(app, ["status", "tiny"])
    assert done.exit_code == 0
    assert "acoustic" in done.output
    assert list(tmp_path.iterdir()) == []


def test_status_tells_the_newest_step_of_a_log_that_a_kill_has_torn(
    tmp_path: Path,
) -> None:
    places = Places(tmp_path, load_recipe("tiny"))
    places.run.mkdir(parents=True)
    places.log("masks").write_text('{"step": 10, "sound": 1.5}\n{"step": 20, "sou')
    states = {row["step"]: row["state"] for row in show.status(places)}
    assert states["masks"] == "step 10 of 60: sound 1.5"
    assert states["acoustic"] == "-"


def test_packs_are_cut_from_a_draft_without_torch(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Places(tmp_path, load_recipe("tiny"))
    starter = load_pack(starter_directory(), trusted=True).manifest
    places.draft.mkdir(parents=True)
    for name in packer.GRAPHS.values():
        (places.draft / name).write_bytes((starter_directory() / name).read_bytes())
    voices = {
        name: starter.voices["woman"].model_copy(update={"speaker": voice.speaker})
        for name, voice in places.recipe.voices.items()
    }
    context = starter.context.left
    origin = packer.Origin(
        "tiny-draft", starter.created, voices, context, 1, starter.teacher
    )
    packer.write_draft(places.draft, origin)
    code = (
        "import sys; sys.modules['torch'] = None; sys.argv = ['d', 'pack', 'tiny'];"
        "from distill.cli import main; main()"
    )
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    for said in ("tiny@0.0.1", "(was there)"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert said in " ".join(done.stderr.split())
    made = load_pack(places.pack("tiny"), trusted=True)
    assert list(made.manifest.voices) == ["woman", "man"]


def test_a_note_that_is_missing_or_broken_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "note.json"
    assert read_note(path) == {}
    write_note(path, {"step": 3})
    assert read_note(path) == {"step": 3}
    path.write_text(json.dumps([1]))
    assert read_note(path) == {}
    path.write_text("{")
    assert read_note(path) == {}


def test_a_run_without_torch_says_so_before_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_DISTILL_DATA", str(tmp_path))
    monkeypatch.setattr("distill.commands.find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["run", "tiny"])
    assert done.exit_code == 2
    assert "the package torch is missing; run: make setup-distill" in done.stderr
    assert not list(tmp_path.iterdir())
