"""Matrix products whose rows do not depend on one another, to the last bit.

A request must speak the same alone and in company, so a row's result may not depend on
how many rows are computed with it. Measured with oneDNN's packed weights: results are
equal for every number of rows from 2 up, but a single row may take another kernel.
Whoever calls therefore never passes fewer than :data:`MIN_ROWS`. Packing is also what
makes few rows fast: plain products lay the weights out again at every call.

``int8`` scales each row of the input and of the weights by itself. Its sums are whole
numbers, so it keeps the promise too; it changes the sound and is opt-in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

DType = Literal["fp32", "bf16", "int8"]
Linear = Callable[[Tensor], Tensor]
"""From [rows, in] to [rows, out], both float32."""

MIN_ROWS = 4
"""Fewest rows of a product. Four cost less time than two: measured, a fifth less."""
PACKED_FOR_ROWS = 16
"""Rows that oneDNN lays the weights out for; 1 would choose a layout for one only."""
INT8_MAX = 127.0


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
        return _int8(weight, device)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    cast = weight.to(device, kind).contiguous()
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        return _packed(cast)
    return lambda rows: torch.nn.functional.linear(rows.to(kind), cast).float()


def padded(rows: Tensor) -> Tensor:
    """Add rows of zeros until there are enough for a product.

    Args:
        rows: Any number of rows [rows, in].

    Returns:
        At least :data:`MIN_ROWS` rows, the given ones first.
    """
    missing = MIN_ROWS - rows.shape[0]
    return rows if missing <= 0 else torch.nn.functional.pad(rows, (0, 0, 0, missing))


def _packed(weight: Tensor) -> Linear:
    """A product with weights that oneDNN has laid out once."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_FOR_ROWS)
    product = torch.ops.mkldnn._linear_pointwise
    kind = weight.dtype

    def multiply(rows: Tensor) -> Tensor:
        made: Tensor = product(rows.to(kind), packed, None, "none", [], "")
        return made.float()

    return multiply


def _int8(weight: Tensor, device: torch.device) -> Linear:
    """A product in whole numbers, a scale for each row on both sides."""
    scale = (weight.abs().amax(1) / INT8_MAX).clamp_min(1e-12)
    whole = (weight / scale[:, None]).round().to(device, torch.int8).t()
    scale = scale.to(device)

    def multiply(rows: Tensor) -> Tensor:
        each = (rows.abs().amax(1, keepdim=True) / INT8_MAX).clamp_min(1e-12)
        made = torch._int_mm((rows / each).round().to(torch.int8), whole)
        return made.float() * each * scale

    return multiply
