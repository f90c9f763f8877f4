"""From the transformer's hidden states, or from codes, to a mel spectrogram."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from cloud.engine.chattts.frames import Pass
from cloud.engine.chattts.layers import Block, Conv
from cloud.engine.chattts.shape import Stack

FRAMES_PER_STEP = 2
"""Mel frames of one step: each half of its channels is one."""
DILATION = 2
"""Frames between the taps of the decoder's filters."""


class Decoder:
    """A stack of blocks that turns steps into mel frames.

    The files have one for hidden states and one, of other sizes, for codes.
    """

    def __init__(self, weights: Mapping[str, Tensor], stack: Stack) -> None:
        """Prepare the weights.

        Args:
            weights: Tensors of ``Decoder.safetensors`` or ``DVAE.safetensors``.
            stack: Sizes of the stack named ``decoder.`` in it.
        """
        self._inputs = stack.inputs
        self._first = Conv(
            weights["decoder.conv_in.0.weight"], weights["decoder.conv_in.0.bias"]
        )
        self._second = Conv(
            weights["decoder.conv_in.2.weight"], weights["decoder.conv_in.2.bias"]
        )
        self._blocks = [
            Block(
                weights,
                f"decoder.decoder_block.{index}.",
                scale="weight",
                dilation=DILATION,
            )
            for index in range(stack.layers)
        ]
        self._last = Conv(_last(weights), None)

    def __call__(self, steps: Tensor, step: Pass) -> Tensor:
        """Decode the new steps of a pass.

        Args:
            steps: [steps, 2 * inputs], of all streams below each other.
            step: Must have been begun with two frames a step.

        Returns:
            [frames, mels]; fewer or later than the steps, see :mod:`.frames`.
        """
        rows = steps.reshape(-1, self._inputs)
        rows = self._second(self._first(rows, step, gelu=True), step)
        for block in self._blocks:
            rows = block(rows, step)
        return self._last(rows, step)


def _last(weights: Mapping[str, Tensor]) -> Tensor:
    """The last convolution with the product before it and the mel scale after it.

    The product has no bias, so zeros outside stay zeros and the two are one filter.
    """
    product = weights["decoder.conv_out.weight"][:, :, 0].double()
    joined = torch.einsum("omk,mi->oik", weights["out_conv.weight"].double(), product)
    return (joined * weights["coef"].double().reshape(-1, 1, 1)).float()
