"""Matrix products whose rows do not depend on one another, to the last bit.

A request must speak the same alone and in company, so a row's result may not depend on
how many rows are computed with it. Measured with oneDNN's packed weights: results are
equal for every number of rows from 2 up, but a single row may take another kernel.
Whoever calls therefore never passes fewer than :data:`MIN_ROWS`. Packing is also what
makes few rows fast: plain products lay the weights out again at every call.

What follows a product is done while its result is at hand: a step has twenty layers of
seven such operations, and each by itself costs as much as it takes to be called.

``int8`` scales each row of the input and of the weights by itself. Its sums are whole
numbers, so it keeps the promise too; it changes the sound and is opt-in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

DType = Literal["fp32", "bf16", "int8"]
Join = Literal["add", "mul"]
"""How a product's result meets other numbers."""

MIN_ROWS = 4
"""Fewest rows of a product. Four cost less time than two: measured, a fifth less."""
PACKED_FOR_ROWS = 16
"""Rows that oneDNN lays the weights out for; 1 would choose a layout for one only."""
INT8_MAX = 127.0


@dataclass(frozen=True)
class Linear:
    """A product with constant weights, and what follows it.

    Attributes:
        product: From [rows, in] to [rows, out], both float32.
        packed: The weights as oneDNN has laid them out, where it can do in float32 what
            follows while the result is at hand; elsewhere that is its own operation.
    """

    product: Callable[[Tensor], Tensor]
    packed: Tensor | None = None

    def __call__(
        self,
        rows: Tensor,
        *,
        has_silu: bool = False,
        join: Join = "add",
        other: Tensor | None = None,
    ) -> Tensor:
        """Multiply.

        Args:
            rows: [rows, in], float32.
            has_silu: Whether the result goes through a SiLU; then it is not joined.
            join: How the result meets ``other``.
            other: Numbers to add to the result or to multiply it with, [rows, out].

        Returns:
            [rows, out], float32.
        """
        made: Tensor
        # Looked up here: builds without oneDNN have no such operation.
        if has_silu:
            if self.packed is None:
                return torch.nn.functional.silu(self.product(rows))
            made = torch.ops.mkldnn._linear_pointwise(
                rows, self.packed, None, "swish", [], ""
            )
        elif other is None:
            made = self.product(rows)
        elif self.packed is not None:
            made = torch.ops.mkldnn._linear_pointwise.binary(
                rows, other, self.packed, None, join
            )
        else:
            made = self.product(rows)
            made = made + other if join == "add" else made * other
        return made


def linear(weight: Tensor, dtype: DType, device: torch.device) -> Linear:
    """Prepare a product with constant weights.

    Args:
        weight: Weights [out, in], float32.
        dtype: What to compute in.
        device: Where.

    Returns:
        A function that multiplies.
    """
    if dtype == "int8":
        return Linear(_int8(weight, device))
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    cast = weight.to(device, kind).contiguous()
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return Linear(
            lambda rows: torch.nn.functional.linear(rows.to(kind), cast).float()
        )
    packed = torch.ops.mkldnn._reorder_linear_weight(cast, PACKED_FOR_ROWS)
    return Linear(
        lambda rows: torch.ops.mkldnn._linear_pointwise(
            rows.to(kind), packed, None, "none", [], ""
        ).float(),
        packed if kind == torch.float32 else None,
    )


def padded(rows: Tensor) -> Tensor:
    """Add rows of zeros until there are enough for a product.

    Args:
        rows: Any number of rows [rows, in].

    Returns:
        At least :data:`MIN_ROWS` rows, the given ones first.
    """
    missing = MIN_ROWS - rows.shape[0]
    return rows if missing <= 0 else torch.nn.functional.pad(rows, (0, 0, 0, missing))


def _int8(weight: Tensor, device: torch.device) -> Callable[[Tensor], Tensor]:
    """A product in whole numbers, a scale for each row on both sides."""
    scale = (weight.abs().amax(1) / INT8_MAX).clamp_min(1e-12)
    whole = (weight / scale[:, None]).round().to(device, torch.int8).t()
    scale = scale.to(device)

    def multiply(rows: Tensor) -> Tensor:
        each = (rows.abs().amax(1, keepdim=True) / INT8_MAX).clamp_min(1e-12)
        made = torch._int_mm((rows / each).round().to(torch.int8), whole)
        return made.float() * each * scale

    return multiply
