"""Building blocks of the student: one block, repeated at symbol and at frame rate.

Every block looks only ``KERNEL // 2`` steps to each side and normalises each step by
itself, so the context of a stack is bounded and a chunk with enough context around it
equals the whole.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

KERNEL = 7
"""Width of the depthwise convolution, in steps."""


class Block(nn.Module):
    """ConvNeXt block over time: depthwise convolution, then a per-step bottleneck.

    After Liu et al., *A ConvNet for the 2020s* (2022), in one dimension.
    """

    def __init__(self, channels: int, expansion: int = 3, dropout: float = 0.0) -> None:
        """Build the block.

        Args:
            channels: Width of input and output.
            expansion: Factor of the inner width.
            dropout: Share of what the block adds that is left out in training.
        """
        super().__init__()
        # Two-dimensional, since only that form has a fast channels-last kernel.
        self.depthwise = nn.Conv2d(
            channels,
            channels,
            (1, KERNEL),
            padding=(0, KERNEL // 2),
            groups=channels,
        ).to(memory_format=torch.channels_last)
        self.norm = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, channels * expansion)
        self.narrow = nn.Linear(channels * expansion, channels)
        self.dropout = nn.Dropout(dropout)
        self.scale = nn.Parameter(torch.full((channels,), 0.3))

    def forward(self, steps: Tensor) -> Tensor:
        """Run the block.

        Args:
            steps: ``[batch, steps, channels]``.

        Returns:
            The same shape.
        """
        with torch.autocast("cpu", enabled=False):
            image = steps.float().unsqueeze(1).permute(0, 3, 1, 2)
            mixed = self.depthwise(image).permute(0, 2, 3, 1).squeeze(1)
        inner = nn.functional.gelu(self.widen(self.norm(mixed)))
        # Left out here and not inside, where it costs a seventh of a training step.
        return steps + self.scale * self.dropout(self.narrow(inner))


class Stack(nn.Module):
    """A row of blocks that keeps padding silent."""

    def __init__(
        self, channels: int, depth: int, expansion: int = 3, dropout: float = 0.0
    ) -> None:
        """Build the stack.

        Args:
            channels: Width throughout.
            depth: Number of blocks.
            expansion: Factor of each block's inner width.
            dropout: Share of what each block adds that is left out in training.
        """
        super().__init__()
        self.blocks = nn.ModuleList(
            Block(channels, expansion, dropout) for _ in range(depth)
        )

    def forward(self, steps: Tensor, mask: Tensor | None = None) -> Tensor:
        """Run the blocks.

        Args:
            steps: ``[batch, steps, channels]``.
            mask: ``[batch, steps, 1]``, 0 on padding; None where there is none. Padding
                is cleared before every block, as the zero padding of a single sentence
                would be.

        Returns:
            The same shape as ``steps``.
        """
        for block in self.blocks:
            steps = block(steps if mask is None else steps * mask)
        return steps


def context_of(depth: int) -> int:
    """Steps to each side that a stack of that depth can see."""
    return depth * (KERNEL // 2)
