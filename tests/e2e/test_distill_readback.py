"""What the shipped voice says is understood: a recogniser writes it down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from common.voice.pack import starter_directory

pytestmark = pytest.mark.slow
HIGHEST_ERROR = 0.08
"""Syllable error that the first voice may have on signage."""


def run(root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_the_first_sentence_of_the_readme_is_read_back(
    root: Path, tmp_path: Path
) -> None:
    text = "今日特价，新鲜草莓每斤9.9元，买一送一。"
    out = tmp_path / "a.wav"
    run(root, "edge", "say", text, "--out", str(out))
    (line,) = run(root, "distill", "judge", str(out), "--text", text).splitlines()
    heard = json.loads(line)
    assert heard["syllable_error"] <= HIGHEST_ERROR, heard


def test_a_wrong_text_is_told_from_the_right_one(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.wav"
    run(root, "edge", "say", "欢迎光临本店，请慢走。", "--out", str(out))
    command = [
        *(sys.executable, "-m", "distill", "judge", str(out)),
        *("--text", "停车场已满，禁止入内。", "--most", "0.5"),
    ]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 1
    assert json.loads(done.stdout)["syllable_error"] > 0.5


def test_held_signage_is_understood(root: Path) -> None:
    told = run(
        root,
        *("distill", "evaluate", "shop", "--pack", str(starter_directory())),
        *("--no-teacher", "--voice", "woman", "--count", "20", "--json"),
    )
    (student,) = json.loads(told)["systems"]
    assert student["syllable_error"] <= HIGHEST_ERROR, student
