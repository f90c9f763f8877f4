"""What the demo's tour says is understood: a recogniser writes every sound down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from deploy.demo.cut import ALONE, LONG
from deploy.demo.steps import CLOUD_TEXT, OTHERS, TEXT
from deploy.demo.tampered import TEXTS
from distill.judge.client import Judge
from distill.judge.score import score, total
from distill.settings import DistillSettings

pytestmark = [pytest.mark.broker, pytest.mark.slow]
WINDOW_S = 20
"""The recogniser hears 30 s at once and loses words where it cuts a longer sound by
itself: such a sound is handed to it in pieces, cut in the middle of pauses."""
PAUSE_S = 0.2
HIGHEST_ERROR = 0.12
"""Syllable error of all sounds together."""
SAID = {
    **{"1-local.wav": TEXT, "2-phrase.wav": TEXT},
    **{"3-cloud.wav": CLOUD_TEXT, "4-pack.wav": CLOUD_TEXT},
    **{f"5-tampered-{reason}.wav": text for reason, text in TEXTS.items()},
    **{"6-cut.wav": LONG, "6-alone.wav": ALONE},
}


def pieces(path: Path) -> list[Path]:
    """Cut a sound that is too long for the recogniser; nothing is left out."""
    with wave.open(str(path)) as file:
        rate = file.getframerate()
        sound = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    cut: list[Path] = []
    while len(sound):
        end = len(sound)
        if end > WINDOW_S * rate:
            # The quietest moment in the second half of what fits.
            frame = int(PAUSE_S * rate)
            starts = range(WINDOW_S * rate // 2, WINDOW_S * rate - frame, frame // 4)
            loud = [np.abs(sound[at : at + frame].astype(int)).sum() for at in starts]
            end = starts[int(np.argmin(loud))] + frame // 2
        cut.append(path.with_name(f"{path.stem}-part-{len(cut)}.wav"))
        with wave.open(str(cut[-1]), "wb") as file:
            file.setparams((1, 2, rate, 0, "NONE", ""))
            file.writeframes(sound[:end].tobytes())
        sound = sound[end:]
    return cut


def understood(judge: Judge, path: Path) -> str:
    return "".join(judge.hear(piece) for piece in pieces(path))


def test_every_sound_of_the_tour_is_read_back(root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deploy.demo", "--once"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "demo-out"
    steps = json.loads((out / "report.json").read_text("utf-8"))["steps"]
    assert [step["name"] for step in steps if not step["ok"]] == []
    assert {step["file"] for step in steps} <= SAID.keys()
    sounds = {path.name for path in out.glob("*.wav")}
    # The recogniser knows no other dialect than Mandarin.
    assert sounds == SAID.keys() | {f"1-local-{other}.wav" for other in OTHERS}

    settings = DistillSettings()
    with Judge(settings.judge, settings.data / "judge") as judge:
        heard = {name: understood(judge, out / name) for name in SAID}
    scores = [score(text, heard[name]) for name, text in SAID.items()]
    assert total(scores).rate <= HIGHEST_ERROR, heard
