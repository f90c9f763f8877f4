"""The layers of the decoders and the vocoder, over rows of frames.

Rows are frames and columns channels, so that products and norms need no transposing.
What does not change between calls is computed once: the affine part of a norm goes into
the product after it, a layer scale into the product before it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from cloud.engine.chattts.frames import Pass, Window

EPS = 1e-6
"""Added to the variance in every norm."""


class Affine:
    """A product with packed weights and what follows it, in one call.

    Rows do not depend on their company, see :mod:`.linear`; bias and GELU are done
    while the product is still at hand.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Pack the weights where the device has a packed form.

        Args:
            weight: [outputs, inputs].
            bias: [outputs], or None.
        """
        self._bias = bias
        self._outputs = len(weight)
        self._is_packed = weight.device.type == "cpu" and (
            torch.backends.mkldnn.is_available()
        )
        weight = weight.contiguous()
        self._weight = (
            torch.ops.mkldnn._reorder_linear_weight(weight)
            if self._is_packed
            else weight
        )

    def __call__(self, rows: Tensor, *, gelu: bool = False) -> Tensor:
        """Multiply.

        Args:
            rows: [rows, inputs].
            gelu: Whether the result goes through a GELU.

        Returns:
            [rows, outputs].
        """
        if len(rows) == 0:
            return rows.new_empty(0, self._outputs)
        if not self._is_packed:
            made = functional.linear(rows, self._weight, self._bias)
            return functional.gelu(made) if gelu else made
        # A single row would take another kernel, whose sums have another order.
        taken = rows if len(rows) > 1 else rows.expand(2, -1)
        made = torch.ops.mkldnn._linear_pointwise(
            taken.contiguous(),
            self._weight,
            self._bias,
            *(("gelu", [], "none") if gelu else ("none", [], "")),
        )
        return made[: len(rows)]


def normed(rows: Tensor) -> Tensor:
    """Each row with mean 0 and variance 1."""
    return functional.layer_norm(rows, rows.shape[1:], eps=EPS)


def after_norm(
    weight: Tensor, bias: Tensor, gain: Tensor, offset: Tensor
) -> tuple[Tensor, Tensor]:
    """Take a norm's affine part into the product that follows it.

    ``W (g n + o) + b = (W g) n + (W o + b)``.

    Args:
        weight: The product's, [outputs, channels].
        bias: The product's, [outputs].
        gain: The norm's, [channels].
        offset: The norm's, [channels].

    Returns:
        Weight and bias for rows that are only normed.
    """
    exact = weight.double()
    return (
        (exact * gain.double()).float(),
        (bias.double() + exact @ offset.double()).float(),
    )


class Conv:
    """A convolution over frames, zeros outside, as one product."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """Order the weights by tap.

        Args:
            weight: [outputs, inputs, taps].
            bias: [outputs], or None.
        """
        outputs, _, self._taps = weight.shape
        around = self._taps // 2
        self._window = Window(around, around, self._taps - 1)
        self._product = Affine(weight.transpose(1, 2).reshape(outputs, -1), bias)

    def __call__(self, rows: Tensor, step: Pass, *, gelu: bool = False) -> Tensor:
        """Filter the new frames of a pass."""
        wide = step.widen(rows, self._window)
        if len(wide) < self._taps:
            return self._product(wide.new_empty(0, 0))
        taps = wide.unfold(0, self._taps, 1).transpose(1, 2).flatten(1)
        return self._product(step.narrow(taps), gelu=gelu)


class Block:
    """A ConvNeXt block: a filter per channel, two products, added to what came in."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        prefix: str,
        *,
        scale: str,
        dilation: int,
    ) -> None:
        """Take a block's weights from a file's.

        Args:
            weights: The file's tensors.
            prefix: What the block's names begin with.
            scale: Name of the layer scale.
            dilation: Frames from one tap to the next.
        """

        def of(name: str) -> Tensor:
            return weights[prefix + name]

        self._filter = of("dwconv.weight")[:, 0].t().contiguous()
        self._bias = of("dwconv.bias")
        self._dilation = dilation
        span = dilation * (len(self._filter) - 1)
        self._window = Window(span // 2, span // 2, span)
        self._up = Affine(
            *after_norm(
                of("pwconv1.weight"),
                of("pwconv1.bias"),
                of("norm.weight"),
                of("norm.bias"),
            )
        )
        gain = of(scale)
        self._down = Affine(
            of("pwconv2.weight") * gain[:, None], of("pwconv2.bias") * gain
        )

    def __call__(self, rows: Tensor, step: Pass) -> Tensor:
        """Take the new frames of a pass through the block."""
        wide = step.widen(rows, self._window)
        count = max(len(wide) - self._window.span, 0)
        mixed = torch.addcmul(self._bias, wide[:count], self._filter[0])
        for index, tap in enumerate(self._filter[1:], 1):
            start = index * self._dilation
            mixed.addcmul_(wide[start : start + count], tap)
        middle = self._window.before
        came_in = step.narrow(wide[middle : middle + count])
        inner = self._up(normed(step.narrow(mixed)), gelu=True)
        return self._down(inner).add_(came_in)
