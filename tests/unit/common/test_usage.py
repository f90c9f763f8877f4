"""What was mistyped on a command line is one line, with its code, and exit 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cloud import cli as cloud
from common.usage import begin
from distill import cli as distill
from edge import cli as edge

MAINS = {"edge": edge.main, "cloud": cloud.main, "distill": distill.main}


def run(
    tier: str,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["command", *words])
    with pytest.raises(SystemExit) as ended:
        MAINS[tier]()
    said = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, said.out, said.err


@pytest.mark.parametrize(
    ("tier", "words", "told"),
    [
        ("edge", ["sya"], "'sya'"),
        ("edge", ["say"], "'text'"),
        ("edge", ["say", "好", "--out"], "--out"),
        ("edge", ["say", "好", "--out", "a.wav", "--speed", "fast"], "'--speed'"),
        ("edge", ["say", "好", "--loud"], "--loud"),
        ("cloud", ["srve"], "'srve'"),
        ("cloud", ["boxes", "invite"], "'box'"),
        ("cloud", ["serve", "--port", "door"], "'--port'"),
        ("distill", ["run"], "RECIPE"),
        ("distill", ["judge", "a.wav", "--most", "little"], "'--most'"),
    ],
)
def test_a_mistyped_command_is_one_line_and_exit_2(
    tier: str,
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, said = run(tier, words, monkeypatch, capsys)
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert said.startswith(f"yaohe-{tier}: invalid_request: ")
    assert told in said
    assert "--help" in said
    assert "Input should" not in said


@pytest.mark.parametrize("tier", MAINS)
def test_a_command_without_words_explains_itself(
    tier: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, said = run(tier, [], monkeypatch, capsys)
    assert code in (0, 2)
    assert "Commands:" in out + said


@pytest.mark.parametrize("tier", MAINS)
def test_every_command_says_its_version(
    tier: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(tier, ["--version"], monkeypatch, capsys)
    assert code == 0
    assert out.startswith(f"yaohe-{tier} ")


@pytest.mark.parametrize("tier", MAINS)
def test_every_command_shows_an_example(
    tier: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(tier, ["--help"], monkeypatch, capsys)
    assert code == 0
    assert f"\n      yaohe-{tier} " in out


def test_the_exit_code_of_a_command_reaches_the_shell(root: Path) -> None:
    command = [sys.executable, "-m", "edge", "read", "ก"]
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=60)
    assert done.returncode == 3


def test_a_command_that_ends_well_is_exit_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["command", "read", "你好"])
    with pytest.raises(SystemExit) as ended:
        begin(edge.app, "yaohe-edge")
    assert ended.value.code == 0
    assert "ni2 hao3" in capsys.readouterr().out
