"""What a student is asked for: timing, melody, mel spectrum and sound of a batch."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor, nn

from distill.corpus.dataset import Batch
from distill.student.model import HOP, PITCH_REFERENCE_HZ, Student
from distill.student.vocoder import draw_hiss, pulse_train, render

CROP = 64
"""Frames of sound the vocoder learns from at once (0.8 s)."""
PITCH_BEND = 0.25
"""Octaves up to which a pitch error counts by its square: the mean of what a pitch
could be is nearer to the teacher than its median; what lies farther off is the curve's
way to or from silence."""
BF16_FLAGS = frozenset(("avx512_bf16", "amx_bf16", "bf16"))
"""What the kernel calls processors that multiply in bfloat16."""


@lru_cache(maxsize=1)
def _has_bf16() -> bool:
    """Whether half-width products are faster; elsewhere they are emulated.

    Measured on a processor without: a third of the speed of float32.
    """
    try:
        words = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return not BF16_FLAGS.isdisjoint(words)


def _fast() -> torch.autocast:
    """The precision in which this processor trains fastest."""
    return torch.autocast("cpu", torch.bfloat16, enabled=_has_bf16())


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


def prosody_losses(student: Student, batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
    """Losses of timing and melody on one batch, which needs no sound.

    Args:
        student: The model.
        batch: Sentences.

    Returns:
        Named losses (duration in squared log frames, pitch in octaves, voicing in
        nats) and the encoder's vectors by frame, ``[batch, frames, width]``.
    """
    with _fast():
        hidden, lengths = student.encoder(
            batch.symbols, batch.tones, batch.speaker, batch.dialect, batch.symbol_mask
        )
        spread = _gather(hidden, batch.index)
        pitch, voicing = student.prosody(spread, batch.positions, batch.mask)
    mask = batch.mask.squeeze(-1)
    symbols = batch.symbol_mask.squeeze(-1)
    # The model learns the teacher's own pace; speed is an edit of its answer.
    wanted = torch.log1p(batch.durations * batch.speed)
    voiced = mask * batch.voiced
    pitch_off = nn.functional.smooth_l1_loss(
        pitch.float(), batch.tune, beta=PITCH_BEND, reduction="none"
    )
    cross = nn.functional.binary_cross_entropy_with_logits(
        voicing.float(), batch.voiced, reduction="none"
    )
    named = {
        "duration": ((lengths.float() - wanted) ** 2 * symbols).sum() / symbols.sum(),
        "pitch": (pitch_off * voiced).sum() / voiced.sum().clamp(min=1),
        "voicing": (cross * mask).sum() / mask.sum(),
    }
    return named, spread


def acoustic_losses(student: Student, batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
    """Losses of timing, melody and mel spectrum on one batch.

    Args:
        student: The model.
        batch: Spoken sentences.

    Returns:
        Named losses, those of :func:`prosody_losses` and the mel's in nats, and the
        predicted mel ``[batch, frames, 80]``.
    """
    named, spread = prosody_losses(student, batch)
    with _fast():
        mel = student.acoustic(
            spread,
            batch.positions,
            pitch_inputs(batch.pitch, batch.voiced),
            batch.mask,
        )
    mask = batch.mask.squeeze(-1)
    off = (mel.float() - batch.mel).abs().mean(-1)
    return {"mel": (off * mask).sum() / mask.sum(), **named}, mel.float()


def crops(
    student: Student, mel: Tensor, batch: Batch, starts: Tensor, seed: int
) -> tuple[Tensor, Tensor]:
    """Speak a crop of each sentence.

    Args:
        student: The model.
        mel: ``[batch, frames, 80]`` to speak from.
        batch: The sentences.
        starts: ``[batch]`` first frame of each crop of :data:`CROP` frames.
        seed: Seed of the noise.

    Returns:
        Our sound and the teacher's, each ``[batch, CROP * 300]``.
    """
    rows = starts.unsqueeze(1) + torch.arange(CROP)
    picked = torch.arange(len(starts)).unsqueeze(1)
    pitch, voiced = batch.pitch[picked, rows], batch.voiced[picked, rows]
    with _fast():
        harmonic, noise = student.masks(mel[picked, rows], pitch_inputs(pitch, voiced))
    source = pulse_train(PITCH_REFERENCE_HZ * torch.exp2(pitch), voiced)
    random = torch.Generator().manual_seed(seed)
    hiss = draw_hiss(len(starts), CROP, random)
    samples = starts.unsqueeze(1) * HOP + torch.arange(CROP * HOP)
    return render(harmonic, noise, source, hiss), batch.sound[picked, samples]
