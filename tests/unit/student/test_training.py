"""Training on a corpus that hums: what a step learns from, and what a kill keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from common.text import read
from distill.corpus import ledger
from distill.corpus.dataset import Dataset, collate
from distill.corpus.ledger import Entry
from distill.student.critic import Adversary
from distill.student.model import Shape
from distill.teacher.base import PITCH_PER_UNIT, UNIT_SAMPLES, Lesson
from distill.train import Schedule, Trainer

pytestmark = pytest.mark.slow
SPEAKERS = {"hum": 0}
SHAPE = Shape(32, 1, 1, 16, 1, 1, 32)
TEXTS = ("欢迎光临。", "今日特价九元九角。", "请到三号窗口取餐。", "谢谢惠顾，再见！")


def corpus(folder: Path, *, told: int) -> Path:
    """Spoken sentences, and others that were only told about, at a fixed pitch."""
    with ledger.opened(folder) as book:
        for number in range(8 + told):
            is_told = number >= 8
            symbols = read(TEXTS[number % len(TEXTS)]).symbols
            durations = np.full(len(symbols), 4)
            units = int(durations.sum())
            hz = 300.0 if is_told else 150.0
            turns = np.arange(units * UNIT_SAMPLES) * (hz / 24_000)
            sound = (0.3 * np.sin(2 * np.pi * turns)).astype(np.float32)
            pitch = np.full(units * PITCH_PER_UNIT, hz, np.float32)
            kept = np.zeros(0, np.float32) if is_told else sound
            seconds, sha256 = ledger.save(
                *(folder, number, symbols, Lesson(kept, durations, pitch))
            )
            book.add(Entry(number, "hum", "", seconds, 1.0, sha256, is_told=is_told))
    return folder


def trained(folder: Path, checkpoint: Path, steps: int, **more: int) -> Trainer:
    schedule = Schedule(steps, rate=2e-3, warmup=1, frames=800, **more)
    trainer = Trainer(
        "joint", Dataset(folder, SPEAKERS), checkpoint, schedule, shape=SHAPE
    )
    trainer.run(lambda step, values: None)
    return trainer


def test_a_sentence_without_sound_is_kept_apart(tmp_path: Path) -> None:
    dataset = Dataset(corpus(tmp_path / "c", told=3), SPEAKERS)
    assert len(dataset.told) == 3
    assert len(dataset.train) + len(dataset.unseen) == 8
    for item in dataset.told:
        assert item.mel.shape == (0, 80)
        assert item.sound.shape == (0,)
        assert item.frames == int(item.durations.sum())


def test_melody_is_learnt_from_what_was_only_told(tmp_path: Path) -> None:
    def pitch_after(told: int) -> float:
        """Mean octaves that a student learns for a sentence spoken at 150 Hz."""
        folder = corpus(tmp_path / str(told), told=told)
        trainer = trained(folder, tmp_path / f"{told}.pt", 60)
        trainer.student.eval()
        batch = collate(trainer.dataset.train[:2])
        with torch.no_grad():
            hidden, _ = trainer.student.encoder(
                batch.symbols, batch.tones, batch.speaker, batch.dialect
            )
            index = batch.index.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
            spread = torch.gather(hidden, 1, index)
            pitch, _ = trainer.student.prosody(spread, batch.positions)
        return float(pitch.mean())

    # Spoken and told sentences are the same but an octave apart.
    assert pitch_after(8) > pitch_after(0) + 0.2


def test_a_critic_is_listened_to_and_survives_a_kill(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "c", told=2)
    checkpoint = tmp_path / "joint.pt"
    seen: dict[int, dict[str, float]] = {}
    schedule = Schedule(100, warmup=1, frames=800, critic=50)
    trainer = Trainer(
        "joint", Dataset(folder, SPEAKERS), checkpoint, schedule, shape=SHAPE
    )
    trainer.run(seen.__setitem__)
    assert "verdict" not in seen[50]
    assert {"verdict", "likeness"} <= set(seen[100])
    again = Trainer(
        "joint", Dataset(folder, SPEAKERS), checkpoint, schedule, shape=SHAPE
    )
    assert again.step == 100
    before, after = (
        each._adversary.critic.state_dict()  # type: ignore[union-attr]
        for each in (trainer, again)
    )
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_a_critic_learns_to_tell_two_sounds_apart() -> None:
    torch.manual_seed(1)
    turns = torch.arange(19_200) / 24_000
    theirs = 0.3 * torch.sin(2 * torch.pi * 300 * turns).repeat(2, 1)
    adversary = Adversary()

    def verdict(sound: torch.Tensor) -> float:
        return float(adversary.opinion(sound, theirs)["verdict"].detach())

    ours = (0.3 * torch.randn(2, 19_200)).requires_grad_()
    for _ in range(30):
        adversary.learn(ours, theirs)
    assert verdict(ours) > 4 * verdict(theirs)
    said = adversary.opinion(ours, theirs)
    (said["verdict"] + said["likeness"]).backward()
    assert ours.grad is not None
    assert float(ours.grad.abs().sum()) > 0
