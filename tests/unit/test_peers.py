"""Other readers are asked in an environment of their own, or left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.tools.peer_worker import PEERS, _merged, _pinyin
from tests.tools.peers import INTERPRETER, NAMES, WORKER, ask, interpreter


def test_without_an_environment_of_peers_they_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INTERPRETER, str(tmp_path / "python"))
    assert interpreter() is None
    assert ask("wetext", ["9.9元"]) is None


def test_a_peer_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(INTERPRETER, sys.executable)
    assert ask("misaki", ["你好"]) is None


def test_both_sides_know_the_same_peers() -> None:
    assert tuple(PEERS) == NAMES
    assert WORKER.is_file()


def test_other_spellings_become_the_pinyin_of_the_cases() -> None:
    written = {"ㄏ": "h", "ㄤ": "ang", "阴": "in", "ㄋ": "n", "ㄧ": "i", "ㄚ": "a"}
    written |= {sign: sign for sign in "12345R/"} | {
        "为": "uei",
        "月": "iii",
        "ㄕ": "sh",
    }
    said = _pinyin("阴2ㄏㄤ2/ㄋㄚR3/ㄕ月2/ㄏ为4为4", written, {"h", "n", "sh"})
    assert said == ["yin2", "hang2", "nar3", "shi2", "hui4", "wei4"]
    assert _merged(["na3", "er5"]) == ["nar3"]
