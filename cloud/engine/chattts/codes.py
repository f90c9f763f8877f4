"""From codes to the features that the decoder for codes takes.

Grouped residual finite scalar quantisation: every code is a number in base 5 whose
digits are levels from -1 to 1. Codes of one group refine each other: each has a quarter
of the spread of the one before. Each group is projected, the groups stand side by side.
Mentzer et al., "Finite Scalar Quantization" (2023), https://arxiv.org/abs/2309.15505.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import torch
from torch import Tensor
from torch.nn import functional

LEVELS = 5
"""Values of one digit."""


class Codes:
    """The quantiser, from codes back to features."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        """Take the projections, as many as there are groups.

        Args:
            weights: Tensors of ``DVAE.safetensors``.
        """
        self._groups: list[tuple[Tensor, Tensor]] = []
        for group in count():
            name = f"vq_layer.quantizer.rvqs.{group}.project_out."
            if name + "weight" not in weights:
                break
            self._groups.append((weights[name + "weight"], weights[name + "bias"]))

    def __call__(self, codes: Tensor) -> Tensor:
        """Look up features.

        Args:
            codes: Whole numbers, [steps, codebooks]; a group's codes stand together.

        Returns:
            [steps, features].
        """
        return torch.cat(
            [
                functional.linear(self._refined(part, weight.shape[1]), weight, bias)
                for part, (weight, bias) in zip(
                    codes.long().chunk(len(self._groups), dim=1),
                    self._groups,
                    strict=True,
                )
            ],
            dim=1,
        )

    def _refined(self, codes: Tensor, digits: int) -> Tensor:
        """A group's codes as one vector of levels, [steps, digits]."""
        places = LEVELS ** torch.arange(digits, device=codes.device)
        levels = codes[:, :, None] // places % LEVELS
        half = LEVELS // 2
        spread = float(LEVELS - 1) ** -torch.arange(codes.shape[1], device=codes.device)
        return ((levels - half) / half * spread[:, None]).sum(dim=1)
