"""Memory for keys and values: one static cache, of which each sequence holds a run.

The cache is as large as the budget allows and never grows. A sequence takes a run of
tokens for all that it may ever need, so that one that was admitted always ends; what
does not fit waits. A run is contiguous, so attention reads it where it lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cloud.engine.chattts.shape import Shape

PAGE = 32
"""Tokens by which runs are rounded up, so that gaps can be used again."""


@dataclass(frozen=True, order=True)
class Slot:
    """A run of the cache.

    Attributes:
        start: Its first token's place in the cache.
        tokens: How many tokens it holds.
    """

    start: int
    tokens: int


def token_bytes(shape: Shape, kind: torch.dtype) -> int:
    """Memory of one token.

    Args:
        shape: Sizes of the model.
        kind: Type of keys and values.

    Returns:
        Bytes over all layers, keys and values.
    """
    return 2 * shape.layers * shape.hidden * int(kind.itemsize)


class Slots:
    """The cache and who holds which part of it.

    Attributes:
        cache: Keys and values, [layers, 2, heads, tokens, head width].
    """

    def __init__(
        self,
        shape: Shape,
        budget_bytes: int,
        *,
        kind: torch.dtype = torch.float32,
        device: torch.device | None = None,
        spare: int = 0,
    ) -> None:
        """Reserve the cache; on a processor its memory is taken as it is used.

        Args:
            shape: Sizes of the model.
            budget_bytes: Most bytes of keys and values.
            kind: Type of keys and values.
            device: Where the cache lies.
            spare: Tokens at the end, beside the budget, that no sequence is given.
        """
        pages = max(budget_bytes // (token_bytes(shape, kind) * PAGE), 1)
        self.tokens = pages * PAGE
        sizes = (shape.layers, 2, shape.heads, self.tokens + spare, shape.head_width)
        self.cache: Tensor = torch.empty(sizes, dtype=kind, device=device)
        self._gaps = [Slot(0, self.tokens)]
        self._held: set[Slot] = set()

    @property
    def held(self) -> int:
        """Runs that are held."""
        return len(self._held)

    @property
    def free_tokens(self) -> int:
        """Tokens that nobody holds, in one piece or not."""
        return sum(gap.tokens for gap in self._gaps)

    def take(self, tokens: int) -> Slot | None:
        """Take the first gap that is long enough.

        Args:
            tokens: All that a sequence may ever need.

        Returns:
            Its run, or None where no gap is long enough now.
        """
        wanted = -(-tokens // PAGE) * PAGE
        for index, gap in enumerate(self._gaps):
            if gap.tokens >= wanted:
                left = Slot(gap.start + wanted, gap.tokens - wanted)
                self._gaps[index : index + 1] = [left] if left.tokens else []
                slot = Slot(gap.start, wanted)
                self._held.add(slot)
                return slot
        return None

    def give_back(self, slot: Slot) -> None:
        """Return a run; its neighbours that are free join it.

        Args:
            slot: A run that is held.

        Raises:
            KeyError: It is not held.
        """
        self._held.remove(slot)
        joined: list[Slot] = []
        for gap in sorted([*self._gaps, slot]):
            if joined and joined[-1].start + joined[-1].tokens == gap.start:
                last = joined.pop()
                gap = Slot(last.start, last.tokens + gap.tokens)
            joined.append(gap)
        self._gaps = joined
