"""Attention of rows to their own sequences, in two ways with the same meaning.

Row by row is the way of a processor: a row's sums run over its own tokens and nothing
else, so its bits do not depend on its company, and the cache is read where it lies.
Together is the way of a GPU: every row reads the same number of tokens, those beyond
its own masked, so that one call serves all rows and can be captured in a graph. A GPU's
products may round differently with the number of rows anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

Attend = Callable[[Tensor, Tensor], Tensor]
"""From queries [rows, heads, width] and one layer's cache [2, heads, tokens, width] to
what each row attends to, [rows, heads, width]."""


@dataclass(frozen=True)
class Row:
    """Where a row stands.

    Attributes:
        start: Where its sequence's run of the cache begins.
        position: Its place in the sequence, from 0.
    """

    start: int
    position: int


def row_by_row(rows: Sequence[Row]) -> Attend:
    """Attend with a call for each row.

    Args:
        rows: Where each row stands.

    Returns:
        The function for one step.
    """
    runs = [(row.start, row.position + 1) for row in rows]

    def attend(queries: Tensor, memory: Tensor) -> Tensor:
        keys, values = memory.unsqueeze(1).unbind(0)
        each = queries[:, None, :, None].unbind(0)
        attended = [
            functional.scaled_dot_product_attention(
                query, keys.narrow(2, start, count), values.narrow(2, start, count)
            )
            for query, (start, count) in zip(each, runs, strict=True)
        ]
        return torch.cat(attended)[:, :, 0]

    return attend


def together(starts: Tensor, positions: Tensor, span: int) -> Attend:
    """Attend with one call for all rows.

    Args:
        starts: Where each row's sequence begins in the cache, [rows].
        positions: Each row's place in its sequence, [rows].
        span: Tokens that every row reads; more than any position.

    Returns:
        The function for one step; it has no sizes but those of its tensors.
    """
    reach = torch.arange(span, device=starts.device)
    is_own = (reach <= positions[:, None])[:, None, None]
    # What is not a row's own is masked; its place must only exist.
    places = torch.minimum(reach, positions[:, None]) + starts[:, None]

    def attend(queries: Tensor, memory: Tensor) -> Tensor:
        keys, values = memory[:, :, places].transpose(1, 2).unbind(0)
        attended = functional.scaled_dot_product_attention(
            queries[:, :, None], keys, values, attn_mask=is_own
        )
        return attended[:, :, 0]

    return attend
