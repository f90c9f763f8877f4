"""What is trained in torch is what is spoken by numpy and ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from common.text import read  # noqa: E402 - torch decides whether this file runs
from common.text.symbols import tone_inputs  # noqa: E402
from common.voice import source, walk  # noqa: E402
from common.voice.runtime import Session  # noqa: E402
from distill.export import STAGES, TOLERANCE, export  # noqa: E402
from distill.student import vocoder  # noqa: E402
from distill.student.layers import Stack, context_of  # noqa: E402
from distill.student.model import Shape, Student, positions_of  # noqa: E402

pytestmark = pytest.mark.slow

SMALL = Shape(
    width=24,
    encoder=2,
    prosody=2,
    prosody_width=16,
    decoder=2,
    vocoder=2,
    vocoder_width=24,
)


@pytest.fixture
def student() -> Student:
    torch.manual_seed(3)
    made = Student(SMALL)
    made.eval()
    return made


def test_the_source_is_the_same_in_numpy_and_torch() -> None:
    random = np.random.default_rng(1)
    hz = random.uniform(80, 300, 60).astype(np.float32)
    voiced = (random.random(60) > 0.3).astype(np.float32)
    ours = source.pulse_train(hz, voiced)
    theirs = vocoder.pulse_train(torch.tensor(hz)[None], torch.tensor(voiced)[None])
    off = np.abs(ours - theirs[0].numpy())
    assert np.sqrt((off**2).mean()) < 2e-3


def test_the_signal_half_is_the_same_in_numpy_and_torch() -> None:
    random = np.random.default_rng(2)
    sound = random.standard_normal(60 * source.HOP).astype(np.float32)
    slices = 60 * source.SLICES
    mask = random.random((slices, source.BINS)).astype(np.float32)
    spectra = source.spectrum(np.pad(sound, source.EDGE), 0, slices)
    ours = source.overlap_add(spectra * mask)
    theirs = vocoder.overlap_add(
        vocoder.spectrum(torch.tensor(sound)[None]) * torch.tensor(mask)
    )
    assert np.abs(ours - theirs[0].numpy()).max() < 1e-4


def test_analysis_and_synthesis_give_back_the_sound() -> None:
    sound = np.random.default_rng(3).standard_normal(40 * source.HOP).astype(np.float32)
    again = source.overlap_add(
        source.spectrum(np.pad(sound, source.EDGE), 0, 40 * source.SLICES)
    )
    inside = slice(source.FFT, -source.FFT)
    assert np.abs(again - sound)[inside].max() < 1e-5


def test_exported_graphs_equal_torch(student: Student, tmp_path: Path) -> None:
    worst = export(student, tmp_path)
    assert set(worst) == set(STAGES)
    assert max(worst.values()) <= TOLERANCE


def test_a_chunk_with_context_equals_the_whole() -> None:
    torch.manual_seed(5)
    stack = Stack(16, 3)
    steps = torch.randn(1, 80, 16)
    reach = context_of(3)
    with torch.no_grad():
        whole = stack(steps)[:, 30:50]
        part = stack(steps[:, 30 - reach : 50 + reach])[:, reach:-reach]
        short = stack(steps[:, 32 - reach : 50 + reach])[:, reach - 2 : -reach]
    assert torch.allclose(whole, part, atol=1e-5)
    assert not torch.allclose(whole, short, atol=1e-5)


def test_padding_changes_nothing(student: Student) -> None:
    symbols = torch.randint(5, 90, (1, 12))
    tones = torch.randn(1, 12, 5)
    zero = torch.zeros(1, dtype=torch.int64)
    with torch.no_grad():
        alone, _ = student.encoder(symbols, tones, zero, zero)
        padded, _ = student.encoder(
            torch.nn.functional.pad(symbols, (0, 5), value=7),
            torch.nn.functional.pad(tones, (0, 0, 0, 5), value=3.0),
            zero,
            zero,
            torch.cat([torch.ones(1, 12, 1), torch.zeros(1, 5, 1)], 1),
        )
    assert torch.allclose(alone, padded[:, :12], atol=1e-5)


def test_positions_are_the_same_in_training_and_speaking() -> None:
    counts = np.array([4, 7, 0, 3], np.int64)
    index, positions = walk._positions(counts)
    theirs_index, theirs = positions_of(torch.tensor(counts))
    assert index.tolist() == theirs_index.tolist()
    assert np.allclose(positions, theirs.numpy())


def test_the_walk_follows_the_torch_student(student: Student, tmp_path: Path) -> None:
    export(student, tmp_path)
    encoder, prosody, decoder = (Session(tmp_path / f"{n}.onnx") for n in STAGES)
    networks = walk.Networks(
        encoder, prosody, decoder, context=SMALL.context, noise_seed=1
    )
    symbols = read("欢迎光临").symbols
    settled = walk.plan(networks, symbols, walk.Style(1))
    tones = torch.tensor([[tone_inputs(symbol) for symbol in symbols]])
    with torch.no_grad():
        hidden, lengths = student.encoder(
            torch.tensor([[symbol.id for symbol in symbols]]),
            tones,
            torch.tensor([1]),
            torch.tensor([0]),
        )
    counts = walk.frame_counts(symbols, lengths[0].numpy(), 1.0).astype(np.int64)
    index, _ = positions_of(torch.tensor(counts))
    assert settled.frames == counts.sum()
    assert np.allclose(settled.hidden, hidden[0, index].numpy(), atol=1e-4)
