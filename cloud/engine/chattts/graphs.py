"""Steps of fixed sizes, so that a GPU replays them without being told each kernel.

A graph is a recorded step: it can run again only with the same shapes at the same
addresses. So rows are filled up to one of a few counts and reach to one of a few spans,
and each pair of these is recorded the first time it is met. Where there is no CUDA the
same steps run unrecorded, which is how they are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cloud.engine.chattts.attention import Row, together
from cloud.engine.chattts.network import Network

SPAN = 256
"""Smallest reach of a row in tokens; the others are its doubles."""
WARM_RUNS = 2
"""Runs before a recording, in which libraries make their plans."""


@dataclass(frozen=True)
class _Step:
    """A step of one size: where its inputs go and its output lies."""

    inputs: Tensor
    starts: Tensor
    positions: Tensor
    output: Tensor | None
    graph: torch.cuda.CUDAGraph | None


class Graphs:
    """The steps of a network, by their sizes."""

    def __init__(
        self, network: Network, cache: Tensor, spare: int, hidden: int
    ) -> None:
        """Record nothing yet.

        Args:
            network: What computes.
            cache: Keys and values, always these.
            spare: A place of the cache that no sequence holds; rows that only fill up
                write there.
            hidden: Width of the network.
        """
        self._network = network
        self._cache = cache
        self._spare = spare
        self._hidden = hidden
        self._steps: dict[tuple[int, int], _Step] = {}

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Counts and spans met so far."""
        return sorted(self._steps)

    def forward(self, rows: Sequence[Row], inputs: Tensor) -> Tensor:
        """Compute rows.

        Args:
            rows: Where each row stands.
            inputs: Embedded tokens [rows, hidden].

        Returns:
            Hidden states after the last norm, [rows, hidden].
        """
        count = _doubled(1, len(rows))
        span = _doubled(SPAN, 1 + max(row.position for row in rows))
        step = self._steps.get((count, span))
        if step is None:
            step = self._steps[count, span] = self._recorded(count, span)
        filled = [*rows, *[Row(self._spare, 0)] * (count - len(rows))]
        step.inputs[: len(rows)].copy_(inputs)
        step.starts.copy_(torch.tensor([row.start for row in filled]))
        step.positions.copy_(torch.tensor([row.position for row in filled]))
        if step.graph is None or step.output is None:
            return self._computed(step, span)[: len(rows)]
        step.graph.replay()
        # The next replay writes over its own output.
        return step.output[: len(rows)].clone()

    def _recorded(self, count: int, span: int) -> _Step:
        """A step of one size, recorded where that is possible."""
        device = self._cache.device
        step = _Step(
            torch.zeros(count, self._hidden, device=device),
            torch.full((count,), self._spare, device=device),
            torch.zeros(count, dtype=torch.long, device=device),
            output=None,
            graph=None,
        )
        if device.type != "cuda":
            return step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_RUNS):
                self._computed(step, span)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            output = self._computed(step, span)
        return _Step(step.inputs, step.starts, step.positions, output, graph)

    def _computed(self, step: _Step, span: int) -> Tensor:
        """What a step's inputs give; nothing in here looks at a number."""
        return self._network.compute(
            step.inputs,
            step.starts,
            step.positions,
            self._cache,
            together(step.starts, step.positions, self._cache, span),
        )


def _doubled(least: int, wanted: int) -> int:
    """The first double of a number that is enough."""
    while least < wanted:
        least *= 2
    return least
