"""Sound from steps: what a plain computation gives, in any pieces and any company."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.chattts.assets import Assets  # noqa: E402
from cloud.engine.chattts.layers import Affine  # noqa: E402
from cloud.engine.chattts.stream import Piece, Vocoder, VocoderStream  # noqa: E402
from tests.unit.engine import plain_sound  # noqa: E402

pytestmark = pytest.mark.slow

STEPS = 60
DELAY = 52
"""Steps on each side that a sample of the published model depends on."""


@pytest.fixture(scope="module")
def vocoder(tiny_assets: Assets) -> Vocoder:
    return Vocoder(tiny_assets)


@pytest.fixture(scope="module")
def hidden(tiny_assets: Assets) -> Any:
    draw = torch.Generator().manual_seed(1)
    return torch.randn(STEPS, tiny_assets.shape.hidden, generator=draw)


def in_pieces(stream: VocoderStream, hidden: Any, cuts: Sequence[int]) -> Any:
    parts = [stream.push(part) for part in torch.tensor_split(hidden, list(cuts))]
    return np.concatenate([*parts, stream.finish()])


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 30, STEPS])
def test_the_sound_is_that_of_a_plain_computation(
    tiny_assets: Assets, vocoder: Vocoder, hidden: Any, steps: int
) -> None:
    sound = vocoder.whole(hidden[:steps])
    assert sound.dtype == np.float32
    assert sound.shape == ((2 * steps - 1) * 256,)
    plain = plain_sound.whole(tiny_assets, hidden[:steps])
    assert np.abs(plain).max() > 0.03
    np.testing.assert_allclose(sound, plain, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_the_sound_of_codes_is_that_of_a_plain_computation(
    tiny_assets: Assets, steps: int
) -> None:
    draw = torch.Generator().manual_seed(2)
    codes = torch.randint(0, 625, (steps, 4), generator=draw)
    vocoder = Vocoder(tiny_assets, from_codes=True)
    sound = vocoder.whole(codes)
    plain = plain_sound.whole_of_codes(tiny_assets, codes)
    np.testing.assert_allclose(sound, plain, atol=1e-6)
    pieces = in_pieces(vocoder.stream(), codes, range(7, steps, 7))
    np.testing.assert_array_equal(pieces, sound)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 12, 24, 48])
def test_pieces_of_any_size_give_the_same_samples(
    vocoder: Vocoder, hidden: Any, size: int
) -> None:
    pieces = in_pieces(vocoder.stream(), hidden, range(size, STEPS, size))
    np.testing.assert_array_equal(pieces, vocoder.whole(hidden))


@pytest.mark.parametrize("seed", range(12))
def test_wherever_the_steps_are_cut_the_samples_are_the_same(
    vocoder: Vocoder, hidden: Any, seed: int
) -> None:
    draw = random.Random(seed)
    cuts = sorted(draw.randrange(STEPS + 1) for _ in range(draw.randrange(12)))
    pieces = in_pieces(vocoder.stream(), hidden, cuts)
    np.testing.assert_array_equal(pieces, vocoder.whole(hidden))


@pytest.mark.parametrize("seed", range(12))
def test_a_sound_is_the_same_in_any_company(
    vocoder: Vocoder, hidden: Any, seed: int
) -> None:
    draw = random.Random(seed)
    lengths = [draw.randint(1, STEPS) for _ in range(draw.randint(2, 5))]
    streams = [vocoder.stream() for _ in lengths]
    starts = [0] * len(lengths)
    heard: list[list[Any]] = [[] for _ in lengths]
    while alive := [n for n, start in enumerate(starts) if start < lengths[n]]:
        chosen = draw.sample(alive, draw.randint(1, len(alive)))
        pieces = []
        for n in chosen:
            end = draw.randint(starts[n], lengths[n])
            part = hidden[starts[n] : end]
            pieces.append(Piece(streams[n], part, is_last=end == lengths[n]))
            starts[n] = end
        for n, sound in zip(chosen, vocoder.speak(pieces), strict=True):
            heard[n].append(sound)
    for length, parts in zip(lengths, heard, strict=True):
        alone = vocoder.whole(hidden[:length])
        np.testing.assert_array_equal(np.concatenate(parts), alone)


@pytest.mark.parametrize(("wide", "deep"), [(2048, 512), (512, 2048), (512, 1536)])
def test_a_single_row_gives_what_it_gives_in_company(wide: int, deep: int) -> None:
    draw = torch.Generator().manual_seed(4)
    product = Affine(torch.randn(wide, deep, generator=draw), torch.zeros(wide))
    rows = torch.randn(7, deep, generator=draw)
    for gelu in (False, True):
        together = product(rows, gelu=gelu)
        alone = torch.cat([product(row[None], gelu=gelu) for row in rows])
        assert torch.equal(alone, together)


def test_the_number_of_threads_changes_no_sample(vocoder: Vocoder, hidden: Any) -> None:
    before = torch.get_num_threads()
    heard = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        heard.append(in_pieces(vocoder.stream(), hidden, range(5, STEPS, 5)))
    torch.set_num_threads(before)
    np.testing.assert_array_equal(*heard)


def test_a_peek_is_the_end_and_changes_nothing(vocoder: Vocoder, hidden: Any) -> None:
    stream = vocoder.stream()
    first = stream.push(hidden[:40])
    peek = np.concatenate([first, stream.peek()])
    np.testing.assert_array_equal(peek, vocoder.whole(hidden[:40]))
    rest = [stream.push(hidden[40:]), stream.finish()]
    whole = vocoder.whole(hidden)
    np.testing.assert_array_equal(np.concatenate([first, *rest]), whole)


def test_what_a_stream_keeps_does_not_grow(vocoder: Vocoder, hidden: Any) -> None:
    stream = vocoder.stream()
    sizes = []
    for _ in range(6):
        stream.push(hidden)
        sizes.append(sum(part.untyped_storage().nbytes() for part in stream.memory))
    assert len(set(sizes)) == 1
    assert sizes[0] < 1 << 20


def test_as_deep_as_the_published_model_the_first_sample_leaves_with_step_53(
    deep_assets: Assets, hidden: Any
) -> None:
    vocoder = Vocoder(deep_assets)
    whole = vocoder.whole(hidden)
    plain = plain_sound.whole(deep_assets, hidden)
    np.testing.assert_allclose(whole, plain, atol=1e-6)
    stream = vocoder.stream()
    assert stream.push(hidden[:DELAY]).size == 0
    first = stream.push(hidden[DELAY : DELAY + 1])
    assert first.size == 512
    rest = [stream.push(hidden[DELAY + 1 :]), stream.finish()]
    np.testing.assert_array_equal(np.concatenate([first, *rest]), whole)
