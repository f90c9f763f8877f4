"""The whole way from a teacher that takes characters and tells no durations to a pack.

Its weights are random, so this proves the way and not the voice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="it comes with the extra engine")

from common.text import read
from common.voice.golden import check_golden
from common.voice.pack import load_pack
from common.voice.speak import Speaker
from tests.tools import make_random_assets
from tests.tools.make_random_assets import DIMS, build

pytestmark = pytest.mark.slow
ALL_CHARACTERS = 21178
"""Tokens of the published vocabulary: a sentence lacks none."""
PATIENCE_S = 900.0


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with a token for every character."""
    wide = replace(DIMS["tiny"], text_vocab=ALL_CHARACTERS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(make_random_assets.DIMS, "tiny", wide)
        return build(tmp_path_factory.mktemp("assets"), "tiny")


def distill(data: Path, assets: Path, root: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "distill", *words],
        cwd=root,
        env={
            **os.environ,
            "YAOHE_DISTILL_DATA": str(data),
            "YAOHE_DISTILL_CHATTTS": str(assets),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return " ".join(done.stderr.split())


def test_a_teacher_without_durations_ends_in_a_pack_that_speaks(
    assets: Path, tmp_path: Path, root: Path
) -> None:
    for verb in ("corpus", "train", "export", "pack"):
        distill(tmp_path, assets, root, verb, "tiny-chattts")
    corpus = tmp_path / "tiny-chattts"
    manifest = json.loads((corpus / "corpus.json").read_text("utf-8"))
    assert (manifest["sentences"], manifest["rejected"]) == (8, 0)
    assert manifest["aligned"]["sentences"] == 8
    with np.load(corpus / "alignment.npz") as aligned:
        for name in aligned.files:
            with np.load(corpus / f"{int(name):06d}.npz") as said:
                assert aligned[name].sum() * 600 == len(said["audio"])
                assert len(aligned[name]) == len(said["sym"])
    pack = load_pack(
        tmp_path / "runs" / "tiny-chattts" / "packs" / "tiny-chattts", trusted=True
    )
    # A student inherits what its teacher's weights allow.
    assert "CC BY-NC" in pack.manifest.licences.weights
    assert pack.manifest.teacher.name == "chattts"
    speaker = Speaker(pack)
    check_golden(speaker)
    sound = np.concatenate(
        list(speaker.speak(read("欢迎光临。").symbols, voice="woman"))
    )
    assert np.isfinite(sound).all()
    assert np.abs(sound).max() > 0
    assert "is finished" in distill(tmp_path, assets, root, "corpus", "tiny-chattts")


def test_the_same_sentence_by_the_same_speaker_sounds_the_same(assets: Path) -> None:
    from common.errors import YaoheError
    from distill.teacher.chattts import ChatTtsTeacher

    teacher = ChatTtsTeacher(assets)
    text = "您好，九块九。"
    symbols = read(text).symbols
    first, again, other = (
        teacher.speak(symbols, voice, text=text).audio
        for voice in ("seed 2", "seed 2", "seed 3")
    )
    assert np.array_equal(first, again)
    assert not (first.size == other.size and np.array_equal(first, other))
    lesson = teacher.speak(symbols, "seed 2", text=text)
    assert (lesson.durations, lesson.pitch_hz) == (None, None)
    for voice, words, code in (
        ("nobody", text, "unknown_voice"),
        ("seed 2", "", "invalid_request"),
    ):
        with pytest.raises(YaoheError) as refused:
            teacher.speak(symbols, voice, text=words)
        assert refused.value.code == code


def test_weights_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    from common.errors import YaoheError
    from distill.teacher.chattts import plug

    with pytest.raises(YaoheError, match="YAOHE_DISTILL_CHATTTS") as refused:
        plug(tmp_path)
    assert refused.value.code == "not_ready"
