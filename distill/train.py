"""Training: three stages, each resumable at any step.

``acoustic`` learns durations, pitch and mel from labels; ``masks`` learns the vocoder
from the teacher's own mel; ``joint`` lets the vocoder hear what the acoustic model
really predicts. A checkpoint holds weights, their running mean (which is what gets
exported), optimizer and step; it is replaced atomically, so a kill loses at most
``SAVE_EVERY`` steps.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from distill.corpus.dataset import Batch, Dataset, Utterance, batches, collate
from distill.corpus.variation import Variations
from distill.student import losses
from distill.student.model import HOP, PITCH_REFERENCE_HZ, Shape, Student
from distill.student.vocoder import draw_hiss, pulse_train, render

Stage = Literal["acoustic", "masks", "joint"]

SAVE_EVERY = 250
"""Steps between checkpoints."""
LOG_EVERY = 50
"""Steps between lines of the log."""
CROP = 64
"""Frames of sound the vocoder learns from at once (0.8 s)."""
PITCH_BEND = 0.25
"""Octaves up to which a pitch error counts by its square: the mean of what a pitch
could be is nearer to the teacher than its median; what lies farther off is the curve's
way to or from silence."""
MEAN_DECAY = 0.999
"""Decay of the running mean of the weights, per step."""
PARTS: dict[Stage, tuple[str, ...]] = {
    "acoustic": ("encoder", "prosody", "acoustic"),
    "masks": ("masks",),
    "joint": ("encoder", "prosody", "acoustic", "masks"),
}


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a stage learns.

    Attributes:
        steps: Steps in all.
        rate: Highest learning rate.
        warmup: Steps until it is reached.
        frames: Padded frames per batch.
        seed: Seed of order, crops and initial weights.
    """

    steps: int
    rate: float = 1e-3
    warmup: int = 200
    frames: int = 4800
    seed: int = 20261130

    def rate_at(self, step: int) -> float:
        """Learning rate: linear rise, then a cosine down to 2 %."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1, done))))


def pitch_inputs(pitch: Tensor, voiced: Tensor) -> Tensor:
    """What decoder and vocoder see of the pitch.

    Args:
        pitch: ``[batch, frames]`` octaves.
        voiced: ``[batch, frames]``.

    Returns:
        ``[batch, frames, 2]``: octaves where voiced, else 0, and voicing.
    """
    return torch.stack([pitch * voiced, voiced], -1)


def _gather(hidden: Tensor, index: Tensor) -> Tensor:
    """Repeat symbol vectors over their frames."""
    return torch.gather(hidden, 1, index.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


def acoustic_losses(student: Student, batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
    """Losses of the acoustic stage on one batch.

    Args:
        student: The model.
        batch: Sentences.

    Returns:
        Named losses (mel in nats, duration in squared log frames, pitch in octaves,
        voicing in nats) and the predicted mel ``[batch, frames, 80]``.
    """
    with torch.autocast("cpu", torch.bfloat16):
        hidden, lengths = student.encoder(
            batch.symbols, batch.tones, batch.speaker, batch.dialect, batch.symbol_mask
        )
        spread = _gather(hidden, batch.index)
        pitch, voicing = student.prosody(spread, batch.positions, batch.mask)
        mel = student.acoustic(
            spread,
            batch.positions,
            pitch_inputs(batch.pitch, batch.voiced),
            batch.mask,
        )
    mask = batch.mask.squeeze(-1)
    symbols = batch.symbol_mask.squeeze(-1)
    # The model learns the teacher's own pace; speed is an edit of its answer.
    wanted = torch.log1p(batch.durations * batch.speed)
    voiced = mask * batch.voiced
    off = (mel.float() - batch.mel).abs().mean(-1)
    pitch_off = nn.functional.smooth_l1_loss(
        pitch.float(), batch.tune, beta=PITCH_BEND, reduction="none"
    )
    cross = nn.functional.binary_cross_entropy_with_logits(
        voicing.float(), batch.voiced, reduction="none"
    )
    named = {
        "mel": (off * mask).sum() / mask.sum(),
        "duration": ((lengths.float() - wanted) ** 2 * symbols).sum() / symbols.sum(),
        "pitch": (pitch_off * voiced).sum() / voiced.sum().clamp(min=1),
        "voicing": (cross * mask).sum() / mask.sum(),
    }
    return named, mel.float()


_WEIGHTS = {"mel": 1.0, "duration": 0.3, "pitch": 2.0, "voicing": 0.2, "sound": 0.5}


def sound_loss(
    student: Student, mel: Tensor, batch: Batch, starts: Tensor, seed: int
) -> Tensor:
    """Spectral distance of a crop of each sentence.

    Args:
        student: The model.
        mel: ``[batch, frames, 80]`` to speak from.
        batch: The sentences.
        starts: ``[batch]`` first frame of each crop of ``CROP`` frames.
        seed: Seed of the noise.

    Returns:
        A scalar.
    """
    rows = starts.unsqueeze(1) + torch.arange(CROP)
    picked = torch.arange(len(starts)).unsqueeze(1)
    pitch, voiced = batch.pitch[picked, rows], batch.voiced[picked, rows]
    with torch.autocast("cpu", torch.bfloat16):
        harmonic, noise = student.masks(mel[picked, rows], pitch_inputs(pitch, voiced))
    source = pulse_train(PITCH_REFERENCE_HZ * torch.exp2(pitch), voiced)
    random = torch.Generator().manual_seed(seed)
    hiss = draw_hiss(len(starts), CROP, random)
    ours = render(harmonic, noise, source, hiss)
    samples = starts.unsqueeze(1) * HOP + torch.arange(CROP * HOP)
    return losses.spectral_distance(ours, batch.sound[picked, samples])


class Trainer:
    """One stage of training, from its last checkpoint on."""

    def __init__(
        self,
        stage: Stage,
        dataset: Dataset,
        checkpoint: Path,
        schedule: Schedule,
        shape: Shape | None = None,
        start: Path | None = None,
        also: Path | None = None,
        begin: Callable[[Student], None] | None = None,
    ) -> None:
        """Load or begin.

        Args:
            stage: What to learn.
            dataset: The corpus.
            checkpoint: Where this stage's checkpoint lives.
            schedule: Steps and rates.
            shape: Widths and depths of a new student.
            start: Checkpoint to begin from where ``checkpoint`` does not exist.
            also: Second checkpoint whose masks are taken (for ``joint``).
            begin: Gives a new student its first weights, before those of ``start``.
        """
        torch.manual_seed(schedule.seed)
        self.stage: Stage = stage
        self.dataset = dataset
        self.schedule = schedule
        self.step = 0
        self._path = checkpoint
        self.student = Student(shape)
        self._variations = Variations(dataset.train)
        if begin is not None and not checkpoint.exists():
            begin(self.student)
        for source, parts in ((start, None), (also, ("masks",))):
            if source is not None and not checkpoint.exists():
                adopt(self.student, source, parts)
        learnt = [
            parameter
            for part in PARTS[stage]
            for parameter in getattr(self.student, part).parameters()
        ]
        self.optimizer = torch.optim.AdamW(
            learnt, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.01
        )
        self._learnt = learnt
        if checkpoint.exists():
            saved = torch.load(checkpoint, weights_only=True)
            self.student.load_state_dict(saved["weights"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.step = int(saved["step"])
            self.mean = {key: value.clone() for key, value in saved["mean"].items()}
        else:
            self.mean = {
                key: value.detach().clone()
                for key, value in self.student.state_dict().items()
            }

    def _batches(self) -> Iterator[list[Utterance]]:
        random = np.random.default_rng(self.schedule.seed + self.step)
        while True:
            self.dataset.refresh()
            if self.stage == "masks":
                count = max(1, self.schedule.frames // CROP // 4)
                long = [item for item in self.dataset.train if item.frames > CROP]
                picks = random.choice(len(long), size=(400, count))
                for row in picks:
                    yield [long[int(number)] for number in row]
            else:
                yield from batches(self.dataset.train, random, self.schedule.frames)

    def _losses(self, items: list[Utterance]) -> dict[str, Tensor]:
        batch = collate(items)
        random = np.random.default_rng(self.step)
        if self.stage == "acoustic":
            return acoustic_losses(self.student, batch)[0]
        starts = torch.tensor(
            [int(random.integers(0, max(1, item.frames - CROP))) for item in items]
        )
        if self.stage == "masks":
            sound = sound_loss(self.student, batch.mel, batch, starts, self.step)
            return {"sound": sound}
        long = [number for number, item in enumerate(items) if item.frames > CROP]
        named, mel = acoustic_losses(self.student, batch)
        if long:
            kept = collate([items[number] for number in long])
            mel = mel[long][:, : kept.mel.shape[1]]
            named["sound"] = sound_loss(
                self.student, mel, kept, starts[long], self.step
            )
        return named

    def run(
        self,
        report: Callable[[int, dict[str, float]], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train until the schedule ends or the caller wants to stop.

        Args:
            report: Called every ``LOG_EVERY`` steps with the step and mean losses, and
                at every checkpoint with losses on unseen sentences.
            stop: Asked before every step; the checkpoint is written when it says so.
        """
        sums: dict[str, float] = {}
        since, started = 0, time.monotonic()
        for items in self._batches():
            if self.step >= self.schedule.steps or stop():
                break
            for group in self.optimizer.param_groups:
                group["lr"] = self.schedule.rate_at(self.step)
            varied = self._variations.vary(items, np.random.default_rng(self.step))
            named = self._losses(varied)
            total = torch.stack([_WEIGHTS[k] * v for k, v in named.items()]).sum()
            self.optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(self._learnt, 1.0)
            self.optimizer.step()
            self.step += 1
            self._update_mean()
            since += 1
            for key, value in named.items():
                sums[key] = sums.get(key, 0.0) + float(value.detach())
            if self.step % LOG_EVERY == 0:
                seconds = (time.monotonic() - started) / since
                means = {key: value / since for key, value in sums.items()}
                report(self.step, {**means, "seconds_per_step": seconds})
                sums, since, started = {}, 0, time.monotonic()
            if self.step % SAVE_EVERY == 0:
                self.save()
                report(self.step, self.measure())
        self.save()

    def measure(self, items: int = 16) -> dict[str, float]:
        """Losses on sentences that are not trained on, with the present weights.

        Args:
            items: How many sentences at most.

        Returns:
            Named losses; empty where the corpus has no such sentences yet.
        """
        unseen = self.dataset.unseen[:items]
        if not unseen:
            return {}
        self.student.eval()
        with torch.no_grad():
            named = self._losses(unseen)
        self.student.train()
        return {f"unseen_{key}": float(value) for key, value in named.items()}

    def _update_mean(self) -> None:
        decay = min(MEAN_DECAY, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for key, value in self.student.state_dict().items():
                self.mean[key].lerp_(value, 1 - decay)

    def save(self) -> None:
        """Write the checkpoint atomically."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        torch.save(
            {
                "stage": self.stage,
                "step": self.step,
                "shape": asdict(self.student.shape),
                "schedule": asdict(self.schedule),
                "weights": self.student.state_dict(),
                "mean": self.mean,
                "optimizer": self.optimizer.state_dict(),
            },
            part,
        )
        os.replace(part, self._path)


def adopt(
    student: Student, checkpoint: Path, parts: tuple[str, ...] | None = None
) -> None:
    """Take the mean weights of a checkpoint.

    Args:
        student: The model to fill.
        checkpoint: The file.
        parts: Which networks to take; all by default.
    """
    mean: dict[str, Any] = torch.load(checkpoint, weights_only=True)["mean"]
    chosen = {
        key: value
        for key, value in mean.items()
        if parts is None or key.split(".")[0] in parts
    }
    student.load_state_dict(chosen, strict=parts is None)


def log_to(path: Path) -> Callable[[int, dict[str, float]], None]:
    """A reporter that appends JSON lines to a file.

    Args:
        path: The log.

    Returns:
        The reporter.
    """

    def report(step: int, values: dict[str, float]) -> None:
        row = {"step": step, **{key: round(value, 5) for key, value in values.items()}}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    return report
