"""Frames of several streams, one after another, on their way through the layers.

A layer that looks at neighbours keeps the last frames it has seen. So it goes on in the
next call where it stopped, and zeros stand only before the first frame and after the
last, as if the whole sound were computed at once. Its output is late by what it looks
ahead.

Streams share a call: their frames stand below each other in one matrix, so that each
weight is read once. What a filter makes where two streams meet is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Memory = list[Tensor]
"""What the layers keep of one stream, in the layers' order; empty before the first."""


class Window(NamedTuple):
    """The frames that a layer looks at.

    Attributes:
        before: Zeros before the first frame.
        after: Zeros after the last frame.
        span: Frames that it looks at beside one: outputs are fewer by so many.
    """

    before: int
    after: int
    span: int


class Pass:
    """One call of all layers for the new frames of some streams.

    Attributes:
        counts: Frames of each stream at the layer that comes next.
        memories: What to keep of each stream for its next call.
    """

    def __init__(
        self,
        counts: Sequence[int],
        memories: Sequence[Memory],
        ends: Sequence[bool],
    ) -> None:
        """Begin at the first layer.

        Args:
            counts: New frames of each stream.
            memories: What was kept of each stream.
            ends: Whether no more frames will come.
        """
        self.counts = list(counts)
        self.memories: list[Memory] = [[] for _ in counts]
        self._kept = [iter(memory) for memory in memories]
        self._ends = ends
        self._starts: list[int] = []

    def widen(self, rows: Tensor, window: Window) -> Tensor:
        """Put what a layer remembers before each stream's frames.

        Args:
            rows: The streams' frames, [sum of counts, channels].
            window: What the layer looks at.

        Returns:
            Frames of which each stream has ``window.span`` more than it will have
            outputs, as far as it has that many yet.
        """
        parts: list[Tensor] = []
        starts: list[int] = []
        counts: list[int] = []
        start = 0
        for new, kept, memory, is_last in zip(
            rows.split(self.counts),
            self._kept,
            self.memories,
            self._ends,
            strict=True,
        ):
            before = next(kept, None)
            if before is None:
                before = rows.new_zeros(window.before, rows.shape[1])
            after = rows.new_zeros(window.after if is_last else 0, rows.shape[1])
            wide = torch.cat([before, new, after])
            # A copy: a view would keep the whole matrix alive.
            memory.append(wide[max(len(wide) - window.span, 0) :].clone())
            parts.append(wide)
            starts.append(start)
            counts.append(max(len(wide) - window.span, 0))
            start += len(wide)
        self._starts, self.counts = starts, counts
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def narrow(self, rows: Tensor) -> Tensor:
        """Drop what a filter made where two streams meet.

        Args:
            rows: A filter's output for what :meth:`widen` gave last.

        Returns:
            The streams' frames, [sum of counts, channels].
        """
        if len(self.counts) == 1:
            return rows
        return torch.cat(
            [
                rows[start : start + count]
                for start, count in zip(self._starts, self.counts, strict=True)
            ]
        )
