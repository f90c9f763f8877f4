"""Training: three stages, each resumable at any step.

``acoustic`` learns durations, pitch and mel from labels; ``masks`` learns the vocoder
from the teacher's own mel; ``joint`` lets the vocoder hear what the acoustic model
really predicts, and a critic hear the vocoder. Sentences that a teacher only told about
teach durations and pitch at every step. A checkpoint holds weights, their running mean
(which is what gets exported), optimizer and step; it is replaced atomically, so a kill
loses at most ``SAVE_EVERY`` steps.
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

from distill.corpus.dataset import Dataset, Utterance, batches, collate
from distill.corpus.variation import Variations
from distill.student.critic import Adversary
from distill.student.losses import spectral_distance
from distill.student.model import Shape, Student
from distill.student.objectives import CROP, acoustic_losses, crops, prosody_losses

Stage = Literal["acoustic", "masks", "joint"]
Sounds = tuple[Tensor, Tensor] | None

SAVE_EVERY = 250
"""Steps between checkpoints."""
LOG_EVERY = 50
"""Steps between lines of the log."""
MEAN_DECAY = 0.999
"""Decay of the running mean of the weights, per step."""
TOLD_FRAMES = 4800
"""Padded frames of the sentences without sound that a step learns from."""
_WEIGHTS = {
    "mel": 1.0,
    "duration": 0.3,
    "pitch": 2.0,
    "voicing": 0.2,
    "sound": 0.5,
    "verdict": 0.1,
    "likeness": 0.1,
}
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
        critic: Step from which the student listens to a critic; it learns from the
            first step on. None for no critic.
    """

    steps: int
    rate: float = 1e-3
    warmup: int = 200
    frames: int = 4800
    seed: int = 20261130
    critic: int | None = None

    def rate_at(self, step: int) -> float:
        """Learning rate: linear rise, then a cosine down to 2 %."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1, done))))


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
        self._variations = Variations(dataset.train + dataset.told)
        self._adversary = None if schedule.critic is None else Adversary()
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
            if self._adversary is not None and "adversary" in saved:
                self._adversary.resume(saved["adversary"])
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

    def _told(self) -> Iterator[list[Utterance]]:
        random = np.random.default_rng(self.schedule.seed + self.step + 1)
        while self.stage != "masks" and self.dataset.told:
            yield from batches(self.dataset.told, random, TOLD_FRAMES)

    def _losses(self, items: list[Utterance]) -> tuple[dict[str, Tensor], Sounds]:
        """Losses of spoken sentences, and what was spoken, ours and the teacher's."""
        batch = collate(items)
        random = np.random.default_rng(self.step)
        if self.stage == "acoustic":
            return acoustic_losses(self.student, batch)[0], None
        starts = torch.tensor(
            [int(random.integers(0, max(1, item.frames - CROP))) for item in items]
        )
        if self.stage == "masks":
            sounds = crops(self.student, batch.mel, batch, starts, self.step)
            return {"sound": spectral_distance(*sounds)}, sounds
        long = [number for number, item in enumerate(items) if item.frames > CROP]
        named, mel = acoustic_losses(self.student, batch)
        if not long:
            return named, None
        kept = collate([items[number] for number in long])
        mel = mel[long][:, : kept.mel.shape[1]]
        sounds = crops(self.student, mel, kept, starts[long], self.step)
        return {**named, "sound": spectral_distance(*sounds)}, sounds

    def _lesson(
        self, items: list[Utterance], told: list[Utterance]
    ) -> dict[str, Tensor]:
        """Losses of one step."""
        random = np.random.default_rng(self.step)
        named, sounds = self._losses(self._variations.vary(items, random))
        if told:
            batch = collate(self._variations.vary(told, random))
            for name, loss in prosody_losses(self.student, batch)[0].items():
                named[name] = (named[name] + loss) / 2
        if self._adversary is not None and sounds is not None:
            self._adversary.learn(*sounds)
            if self.step >= (self.schedule.critic or 0):
                named.update(self._adversary.opinion(*sounds))
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
        told = self._told()
        for items in self._batches():
            if self.step >= self.schedule.steps or stop():
                break
            for group in self.optimizer.param_groups:
                group["lr"] = self.schedule.rate_at(self.step)
            named = self._lesson(items, next(told, []))
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
            named = self._losses(unseen)[0]
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
        adversary = self._adversary
        torch.save(
            {
                "stage": self.stage,
                "step": self.step,
                "shape": asdict(self.student.shape),
                "schedule": asdict(self.schedule),
                "weights": self.student.state_dict(),
                "mean": self.mean,
                "optimizer": self.optimizer.state_dict(),
                **({"adversary": adversary.state()} if adversary else {}),
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
