"""A row's numbers do not depend on who is computed with it, to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from torch import Tensor  # noqa: E402

from cloud.engine.chattts.linear import DType, linear, padded  # noqa: E402
from cloud.engine.chattts.runner import Feed, Runner  # noqa: E402
from cloud.engine.chattts.slots import Slot  # noqa: E402
from tests.unit.engine.core_parts import runner, tiny  # noqa: E402

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
SIZES = [(768, 2304), (768, 768), (768, 6144), (3072, 768), (768, 2504), (64, 192)]
"""Inputs and outputs of every product at full size, and one of the tiny model."""


def random(*sizes: int, seed: int = 0) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize(("wide", "narrow"), SIZES)
def test_a_products_row_is_the_same_in_any_company(
    dtype: DType, wide: int, narrow: int
) -> None:
    multiply = linear(random(narrow, wide) / wide**0.5, dtype, CPU)
    rows = random(80, wide, seed=1)
    alone = torch.cat([multiply(padded(row[None]))[:1] for row in rows])
    for count in [*range(2, 34), 48, 64, 80]:
        assert torch.equal(multiply(rows[:count]), alone[:count])
        assert torch.equal(multiply(rows[-count:]), alone[-count:])


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize(("wide", "narrow"), [(768, 768), (768, 3072), (3072, 768)])
def test_what_follows_a_product_is_the_same_in_any_company(
    dtype: DType, wide: int, narrow: int
) -> None:
    multiply = linear(random(narrow, wide) / wide**0.5, dtype, CPU)
    rows, others = random(64, wide, seed=1), random(64, narrow, seed=2)
    exact = multiply(rows)
    gated = multiply(rows, has_silu=True)
    added = multiply(rows, other=others)
    scaled = multiply(rows, join="mul", other=others)
    torch.testing.assert_close(gated, exact * exact.sigmoid())
    torch.testing.assert_close(added, exact + others)
    torch.testing.assert_close(scaled, exact * others)
    for count in [*range(4, 34), 48]:
        some, beside = rows[-count:], others[-count:]
        assert torch.equal(multiply(some, has_silu=True), gated[-count:])
        assert torch.equal(multiply(some, other=beside), added[-count:])
        assert torch.equal(multiply(some, join="mul", other=beside), scaled[-count:])


@pytest.mark.parametrize(
    ("dtype", "error"), [("fp32", 1e-5), ("bf16", 3e-2), ("int8", 5e-2)]
)
def test_a_product_is_near_the_exact_one(dtype: DType, error: float) -> None:
    weight, rows = random(96, 64) / 8, random(5, 64, seed=1)
    exact = (rows.double() @ weight.double().T).float()
    made = linear(weight, dtype, CPU)(rows)
    assert made.dtype == torch.float32
    assert float((made - exact).abs().max()) < error


def ran(model: Runner, cuts: list[int], start: int) -> Tensor:
    """Hidden state of the last of 40 tokens that were cut in pieces."""
    inputs = random(40, tiny().shape.hidden, seed=2) / 8
    slot = Slot(start, 64)
    position = 0
    hidden = torch.empty(0)
    for part in torch.tensor_split(inputs, cuts):
        hidden = model.run([Feed(slot, position, part)])
        position += len(part)
    return hidden


@pytest.mark.parametrize("cuts", [[1], [39], [7, 8, 30], list(range(1, 40))])
def test_how_a_prompt_is_cut_changes_no_bit(cuts: list[int]) -> None:
    model = runner()
    assert torch.equal(ran(model, cuts, start=96), ran(model, [], start=0))


def test_a_prompt_runs_beside_others_without_a_change() -> None:
    model = runner()
    alone = ran(model, [], start=0)
    inputs = random(40, tiny().shape.hidden, seed=2) / 8
    others = [
        Feed(Slot(128 * n, 64), 0, random(n + 3, tiny().shape.hidden, seed=n) / 8)
        for n in range(1, 6)
    ]
    feeds = [*others[:3], Feed(Slot(0, 64), 0, inputs), *others[3:]]
    assert torch.equal(model.run(feeds)[3], alone[0])


def test_what_others_left_in_the_cache_is_not_seen() -> None:
    model = runner()
    before = ran(model, [], start=0)
    model.slots.cache.fill_(float("nan"))
    assert torch.equal(ran(model, [5], start=0), before)


def test_a_sequence_cannot_outgrow_its_slot() -> None:
    model = runner()
    with pytest.raises(IndexError, match="outgrew"):
        model.run([Feed(Slot(0, 32), 30, random(3, tiny().shape.hidden))])
