"""From a mel spectrogram to sound: blocks over frames, then an inverse transform.

Each frame becomes a spectrum (log magnitude and phase of every bin). Its inverse
Fourier transform is windowed, and frames are added where they overlap, divided by the
sum of the squared windows there. Half a window is cut off at both ends of the sound.
Siuzdak, "Vocos" (2023), https://arxiv.org/abs/2306.00814.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from cloud.engine.chattts.frames import Pass, Window
from cloud.engine.chattts.layers import Affine, Block, Conv, after_norm, normed
from cloud.engine.chattts.shape import Shape

LOUDEST = 100.0
"""Most that the magnitude of a bin may be."""
OVERLAP = 4
"""Frames that share a sample."""


class Vocos:
    """The vocoder."""

    def __init__(self, weights: Mapping[str, Tensor], shape: Shape) -> None:
        """Prepare the weights.

        Args:
            weights: Tensors of ``Vocos.safetensors``.
            shape: Sizes of the model.
        """
        self._first = Conv(
            weights["backbone.embed.weight"], weights["backbone.embed.bias"]
        )
        self._gain = weights["backbone.norm.weight"]
        self._offset = weights["backbone.norm.bias"]
        self._blocks = [
            Block(weights, f"backbone.convnext.{index}.", scale="gamma", dilation=1)
            for index in range(shape.vocos.layers)
        ]
        self._head = Affine(
            *after_norm(
                weights["head.out.weight"],
                weights["head.out.bias"],
                weights["backbone.final_layer_norm.weight"],
                weights["backbone.final_layer_norm.bias"],
            )
        )
        self._overlap = Overlap(weights["head.istft.window"])

    def __call__(self, mel: Tensor, step: Pass) -> Tensor:
        """Sound for the new frames of a pass.

        Args:
            mel: [frames, mels], of all streams below each other.
            step: The pass that the frames came from.

        Returns:
            [blocks, hop] samples; ``step.counts`` says how many blocks are whose.
        """
        rows = normed(self._first(mel, step)) * self._gain + self._offset
        for block in self._blocks:
            rows = block(rows, step)
        level, phase = self._head(normed(rows)).chunk(2, dim=1)
        return self._overlap(torch.polar(level.exp().clamp_(max=LOUDEST), phase), step)


class Overlap:
    """The inverse short-time Fourier transform, a block of one hop at a time.

    A block is the sum of the parts of the four frames that reach into it. Half a
    window is two blocks: the first block that is heard has one frame missing on its
    left, the last one on its right.
    """

    _window = Window(before=1, after=1, span=OVERLAP - 1)

    def __init__(self, window: Tensor) -> None:
        """Remember the window, [samples]."""
        self._shape = window
        self._hop = len(window) // OVERLAP
        # Part j of a frame falls into the j-th block from its start.
        self._squares = window.double().square().float().reshape(OVERLAP, self._hop)

    def __call__(self, spectra: Tensor, step: Pass) -> Tensor:
        """Add the frames of a pass.

        Args:
            spectra: Complex, [frames, bins].
            step: The pass.

        Returns:
            Samples, [blocks, hop].
        """
        size = len(self._shape)
        # The transform refuses to do nothing.
        if len(spectra):
            sound = torch.fft.irfft(spectra, size) * self._shape
        else:
            sound = self._shape.new_empty(0, size)
        # A column of ones tells frames from the zeros outside.
        rows = torch.cat([sound, sound.new_ones(len(sound), 1)], dim=1)
        wide = step.widen(rows, self._window)
        count = max(len(wide) - self._window.span, 0)
        total = wide.new_zeros(count, self._hop)
        weight = wide.new_zeros(count, self._hop)
        for part in range(OVERLAP):
            frames = wide[OVERLAP - 1 - part :][:count]
            total += frames[:, part * self._hop : (part + 1) * self._hop]
            weight.addcmul_(frames[:, size:], self._squares[part])
        return step.narrow(total.div_(weight))
