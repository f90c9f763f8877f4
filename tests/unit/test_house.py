"""The house itself: where code lives, what it may import, and what the papers promise."""

from __future__ import annotations

import importlib
import itertools
import re
import runpy
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from common.version import VERSION

PACKAGES = ("cloud", "common", "distill", "edge")
COMMANDS = ("cloud", "distill", "edge")
LONGEST_FILE = 400
TOP = re.compile(
    r"cloud|common|deploy|distill|edge|tests|pyproject\.toml|Makefile|LICENSE|NOTICE"
    r"|(README(\.zh-CN)?|ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY)\.md|\..+"
)
PAPERS = ("README.md", "README.zh-CN.md")
WITHOUT_TORCH = (
    "cloud.cli", "distill.cli", "distill.packer", "distill.signing", "edge.cli",
)  # fmt: skip


def tracked(root: Path, pattern: str = "*") -> list[Path]:
    """The files of the checkout that git keeps, or would keep."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", pattern]
    listed = subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [root / name for name in listed if (root / name).exists()]


def blocks(paper: Path) -> list[str]:
    """The shell blocks of a paper, without comments, which are in its language."""
    found = re.findall(r"```(?:sh|bash)\n(.*?)```", paper.read_text("utf-8"), re.S)
    return [re.sub(r"\s*(^|\s)#.*$", "", block, flags=re.M) for block in found]


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_come_from_this_checkout(name: str, root: Path) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).resolve() == root / name / "__init__.py"


def test_helpers_of_tests_come_from_this_checkout(root: Path) -> None:
    module = importlib.import_module("tests")
    assert list(module.__path__) == [str(root / "tests")]


def test_version_is_the_changelogs_newest(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text("utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\]", text, re.M)
    assert released[0] == VERSION


def test_no_file_is_longer_than_one_noun_needs(root: Path) -> None:
    long = {
        str(path.relative_to(root)): lines
        for path in tracked(root, "*.py")
        if (lines := len(path.read_text("utf-8").splitlines())) > LONGEST_FILE
        and "_pb2" not in path.name
    }
    assert long == {}


def test_no_init_file_stands_below_tests(root: Path) -> None:
    assert list((root / "tests").rglob("__init__.py")) == []


def test_top_level_holds_only_what_the_plan_names(root: Path) -> None:
    names = {path.relative_to(root).parts[0] for path in tracked(root)}
    assert {name for name in names if not TOP.fullmatch(name)} == set()


def test_no_code_imports_the_copyleft_package(root: Path) -> None:
    """ChatTTS is AGPL: only the optional engine `reference` may ask for it."""
    allowed = re.compile(r"cloud/engine/reference(\.py|/)|tests/")
    found = [
        name
        for path in tracked(root, "*.py")
        if not allowed.match(name := str(path.relative_to(root)))
        and re.search(r"^\s*(import|from) ChatTTS\b", path.read_text("utf-8"), re.M)
    ]
    assert found == []


@pytest.mark.parametrize("name", WITHOUT_TORCH)
def test_module_imports_without_torch(name: str, root: Path) -> None:
    code = f"import sys; sys.modules['torch'] = None; import {name}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_command_and_module_give_the_same_help(name: str, root: Path) -> None:
    script = Path(sys.executable).with_name(f"yaohe-{name}")
    helps = [
        subprocess.run(
            [*command, "--help"], cwd=root, capture_output=True, text=True, check=True
        ).stdout
        for command in ([str(script)], [sys.executable, "-m", name])
    ]
    by_name, by_module = (text.split() for text in helps)
    assert f"yaohe-{name}" in by_name
    assert (
        by_name
        == " ".join(by_module).replace(f"python -m {name}", f"yaohe-{name}").split()
    )


def test_both_readmes_give_the_same_commands(root: Path) -> None:
    english, chinese = (blocks(root / paper) for paper in PAPERS)
    assert english
    assert english == chinese


@pytest.mark.parametrize("paper", [*PAPERS, "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_every_make_target_in_the_papers_exists(paper: str, root: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.M))
    text = (root / paper).read_text("utf-8")
    asked = set(re.findall(r"(?:`|^|&& )make ([a-z-]+)", text, re.M))
    assert asked <= targets


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_in_the_readmes_exists(paper: str, root: Path) -> None:
    text = (root / paper).read_text("utf-8")
    asked = set(re.findall(r"^\.venv/bin/yaohe-(\w+)((?: [a-z]+)+)", text, re.M))
    assert {tier for tier, _ in asked} == set(COMMANDS)
    for tier, words in sorted(asked):
        app = importlib.import_module(f"{tier}.cli").app
        done = CliRunner().invoke(app, [*words.split(), "--help"])
        assert done.exit_code == 0, f"yaohe-{tier}{words}: {done.output}"


@pytest.mark.parametrize("paper", [*PAPERS, "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_links_in_the_papers_lead_somewhere(paper: str, root: Path) -> None:
    text = (root / paper).read_text("utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (root / link).exists()] == []


def test_types_are_said_to_be_there(root: Path) -> None:
    assert [name for name in PACKAGES if not (root / name / "py.typed").exists()] == []


def test_the_settings_reference_is_what_the_classes_say(root: Path) -> None:
    told = runpy.run_path(str(root / "deploy" / "settings_reference.py"))
    kept = (root / "deploy" / "settings.env").read_text("utf-8")
    assert kept == told["reference"](), "run `make format`"


def test_every_setting_says_what_it_means(root: Path) -> None:
    kept = (root / "deploy" / "settings.env").read_text("utf-8").splitlines()
    bare = [
        line
        for before, line in itertools.pairwise(kept)
        if line.startswith("#YAOHE_") and not re.match(r"# \S", before)
    ]
    assert bare == []


def test_the_unit_starts_a_command_that_exists(root: Path) -> None:
    unit = (root / "deploy" / "yaohe-edge.service").read_text("utf-8")
    (started,) = re.findall(r"^ExecStart=(.+)$", unit, re.M)
    script, *arguments = shlex.split(started)
    command = [str(Path(sys.executable).with_name(Path(script).name)), *arguments]
    done = subprocess.run([*command, "--help"], capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_the_starter_voice(
    root: Path, tmp_path: Path
) -> None:
    command = [
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
        "--wheel-dir", str(tmp_path), str(root),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("yaohe-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    assert any(name == "common/voice/starter/manifest.json" for name in names)
    assert any(re.match(r"common/voice/starter/.+\.onnx$", name) for name in names)
