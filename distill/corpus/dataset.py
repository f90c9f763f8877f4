"""The corpus as the trainer sees it: labels, pitch and spectra in memory.

The corpus may grow while it is read: :meth:`Dataset.refresh` picks up new rows, so that
training can start before the teacher has finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from common.text.symbols import DIALECTS, Symbol, tone_inputs
from distill.corpus.complete import has_durations, read_alignment
from distill.student.losses import log_mel
from distill.student.model import HOP, MELS, PITCH_REFERENCE_HZ, positions_of

PITCH_FLOOR_HZ = 55.0
"""Below this the teacher's pitch curve is on its way to or from silence."""
EDGE_FRAMES = 8
"""Frames of silence kept at the start of an utterance (100 ms); the teacher leaves four
times that, which a listener would wait for."""
UNITS = 2
"""Frames per unit of the teacher's durations (600 samples)."""


@dataclass(frozen=True)
class Utterance:
    """One sentence with everything to learn from it.

    Attributes:
        id: Its number in the corpus.
        speaker: Speaker slot.
        symbols: ``[symbols]`` int64.
        tones: ``[symbols, 5]``.
        durations: ``[symbols]`` frames, int64.
        speed: Speed that the teacher was asked for; 1 is its own.
        pitch: ``[frames]`` octaves around 200 Hz, continuous through unvoiced frames.
        voiced: ``[frames]`` 0 or 1.
        mel: ``[frames, 80]`` log mel spectrum of the teacher's sound; no frames where
            the teacher only told about the sentence.
        sound: ``[frames * 300]`` int16, or empty.
        dialect: Index into ``DIALECTS``.
        said: The symbols again, whole.
        tune: ``[frames]`` what the pitch network shall answer: ``pitch``, unless other
            contours were put in.
    """

    id: int
    speaker: int
    symbols: Tensor
    tones: Tensor
    durations: Tensor
    speed: float
    pitch: Tensor
    voiced: Tensor
    mel: Tensor
    sound: Tensor
    dialect: int
    said: tuple[Symbol, ...]
    tune: Tensor

    @property
    def frames(self) -> int:
        """Length in frames."""
        return len(self.pitch)


def _pitch(hz: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
    """Octaves through all frames, and which of them are voiced."""
    voiced = hz >= PITCH_FLOOR_HZ
    steps = np.arange(len(hz))
    if voiced.any():
        octaves = np.interp(
            steps, steps[voiced], np.log2(hz[voiced] / PITCH_REFERENCE_HZ)
        )
    else:
        octaves = np.zeros(len(hz))
    return torch.tensor(octaves).float(), torch.tensor(voiced).float()


def load_utterance(
    path: Path,
    number: int,
    speaker: int,
    dialect: str = "zh",
    *,
    aligned: NDArray[np.int16] | None = None,
) -> Utterance:
    """Read one sentence of the corpus.

    Args:
        path: Its ``.npz`` with ``dur``, ``f0``, ``sym``, ``speed``, and ``audio`` where
            it was spoken.
        number: Its number.
        speaker: The speaker slot to train.
        dialect: Whose segments it has.
        aligned: Its durations, where the teacher told none.

    Returns:
        The sentence, its leading silence cut to :data:`EDGE_FRAMES`.
    """
    with np.load(path) as file:
        hz, rows = file["f0"], file["sym"]
        audio = file["audio"] if "audio" in file else np.zeros(0, np.int16)
        units = file["dur"] if aligned is None else aligned
        speed = float(file["speed"]) if "speed" in file else 1.0
    durations = units.astype(np.int64) * UNITS
    cut = max(0, int(durations[0]) - EDGE_FRAMES)
    durations[0] -= cut
    audio, hz = audio[cut * HOP :], hz[cut:]
    pitch, voiced = _pitch(hz)
    symbols = tuple(Symbol(*map(int, row)) for row in rows)
    sound = torch.from_numpy(audio.copy())
    return Utterance(
        id=number,
        speaker=speaker,
        symbols=torch.tensor([symbol.id for symbol in symbols]),
        tones=torch.tensor([tone_inputs(symbol) for symbol in symbols]),
        durations=torch.from_numpy(durations),
        speed=speed,
        pitch=pitch,
        voiced=voiced,
        mel=(
            log_mel(sound.float().unsqueeze(0) / 32768)[0]
            if len(sound)
            else torch.zeros(0, MELS)
        ),
        sound=sound,
        dialect=DIALECTS.index(dialect),
        said=symbols,
        tune=pitch,
    )


@dataclass(frozen=True)
class Batch:
    """Sentences padded to one shape.

    Attributes:
        symbols: ``[batch, symbols]``.
        tones: ``[batch, symbols, 5]``.
        symbol_mask: ``[batch, symbols, 1]``.
        speaker: ``[batch]``.
        dialect: ``[batch]``.
        durations: ``[batch, symbols]``.
        speed: ``[batch, 1]``.
        index: ``[batch, frames]``, the symbol of each frame.
        positions: ``[batch, frames, 4]``.
        pitch: ``[batch, frames]``.
        tune: ``[batch, frames]``, what the pitch network shall answer.
        voiced: ``[batch, frames]``.
        mel: ``[batch, frames, 80]``.
        sound: ``[batch, frames * 300]``, float in -1..1.
        mask: ``[batch, frames, 1]``.
    """

    symbols: Tensor
    tones: Tensor
    symbol_mask: Tensor
    speaker: Tensor
    dialect: Tensor
    durations: Tensor
    speed: Tensor
    index: Tensor
    positions: Tensor
    pitch: Tensor
    tune: Tensor
    voiced: Tensor
    mel: Tensor
    sound: Tensor
    mask: Tensor


def _pad(rows: Sequence[Tensor]) -> Tensor:
    """Stack rows of different length, zeros behind the short ones."""
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def collate(items: Sequence[Utterance]) -> Batch:
    """Pad sentences into one batch.

    Args:
        items: The sentences.

    Returns:
        The batch.
    """
    frames = [positions_of(item.durations) for item in items]
    return Batch(
        symbols=_pad([item.symbols for item in items]),
        tones=_pad([item.tones for item in items]),
        symbol_mask=_pad([torch.ones(len(item.symbols), 1) for item in items]),
        speaker=torch.tensor([item.speaker for item in items]),
        dialect=torch.tensor([item.dialect for item in items]),
        durations=_pad([item.durations for item in items]),
        speed=torch.tensor([[item.speed] for item in items]),
        index=_pad([index for index, _ in frames]),
        positions=_pad([positions for _, positions in frames]),
        pitch=_pad([item.pitch for item in items]),
        tune=_pad([item.tune for item in items]),
        voiced=_pad([item.voiced for item in items]),
        mel=_pad([item.mel for item in items]),
        sound=_pad([item.sound.float() / 32768 for item in items]),
        mask=_pad([torch.ones(item.frames, 1) for item in items]),
    )


class Dataset:
    """A corpus folder in memory, split into training and unseen sentences.

    Attributes:
        train: Spoken sentences to learn from.
        unseen: Spoken sentences that are only measured on.
        told: Sentences without sound, to learn timing and pitch from.
    """

    UNSEEN_EVERY = 50
    """One sentence in this many is kept from training and measured on."""

    def __init__(self, folder: Path, speakers: dict[str, int]) -> None:
        """Read what is there.

        Args:
            folder: The corpus folder.
            speakers: Speaker slot by voice name of the index.
        """
        self._folder = folder
        self._speakers = speakers
        self._seen: set[int] = set()
        self.train: list[Utterance] = []
        self.unseen: list[Utterance] = []
        self.told: list[Utterance] = []
        self.refresh()

    @property
    def hours(self) -> float:
        """Hours of speech to train on."""
        return sum(item.frames for item in self.train) * HOP / 24_000 / 3600

    def refresh(self) -> int:
        """Read rows that came since the last look.

        Returns:
            How many.
        """
        before = len(self._seen)
        aligned = read_alignment(self._folder)
        for index in sorted(self._folder.glob("index*.jsonl")):
            for line in index.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # the last line of a corpus that is being written
                number = int(row["id"])
                if number in self._seen:
                    continue
                path = self._folder / f"{number:06d}.npz"
                if number not in aligned and not has_durations(path):
                    continue  # until the whole corpus is said and aligned
                self._seen.add(number)
                item = load_utterance(
                    *(path, number, self._speakers[row["voice"]]),
                    row.get("dialect", "zh"),
                    aligned=aligned.get(number),
                )
                if row.get("is_told"):
                    self.told.append(item)
                    continue
                # The hash spreads both voices over the unseen part.
                chosen = (number * 2654435761 >> 7) % self.UNSEEN_EVERY == 0
                (self.unseen if chosen else self.train).append(item)
        return len(self._seen) - before


def batches(
    items: Sequence[Utterance], random: np.random.Generator, frames: int
) -> Iterator[list[Utterance]]:
    """One pass in random order, sentences of like length together.

    Args:
        items: Sentences.
        random: Source of the order.
        frames: Padded frames a batch may hold.

    Yields:
        Lists of sentences.
    """
    jitter = random.uniform(0.9, 1.1, len(items))
    lengths = np.array([item.frames for item in items])
    groups: list[list[Utterance]] = [[]]
    longest = 0
    for number in np.argsort(lengths * jitter):
        item = items[int(number)]
        longest = max(longest, item.frames)
        if groups[-1] and longest * (len(groups[-1]) + 1) > frames:
            groups.append([])
            longest = item.frames
        groups[-1].append(item)
    for number in random.permutation(len(groups)):
        yield groups[int(number)]
