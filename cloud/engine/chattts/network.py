"""The transformer: rows in, rows out; a row is one token of any sequence.

Prompt tokens and steps are computed alike, each as a row that attends to its own
sequence up to itself. So neither the company of a row, nor how its prompt was cut in
pieces, nor whether its keys were computed again after a pause, can change its result:
every sum is over the same numbers in the same order. Llama's arithmetic (RMS norm,
rotary positions, gated SiLU); residuals stay in float32 whatever the products use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from cloud.engine.chattts.assets import Assets
from cloud.engine.chattts.attention import Attend, Row, row_by_row
from cloud.engine.chattts.linear import DType, Linear, linear, padded


@dataclass(frozen=True)
class _Layer:
    """One layer's weights."""

    before_attention: Tensor
    query_key_value: Linear
    attention_out: Linear
    before_feed: Tensor
    gate_up: Linear
    feed_out: Linear


class Network:
    """The transformer's layers on one device."""

    def __init__(self, assets: Assets, dtype: DType, device: torch.device) -> None:
        """Lay the weights out.

        Args:
            assets: Checked weights; all are copied, so that their files can be let go.
            dtype: What the products compute in.
            device: Where.
        """
        shape = self._shape = assets.shape
        self._device = device
        weights = assets.gpt

        def product(layer: str, *names: str) -> Linear:
            joined = torch.cat([weights[f"{layer}{name}.weight"] for name in names])
            return linear(joined, dtype, device)

        self._layers: list[_Layer] = []
        for index in range(shape.layers):
            layer = f"layers.{index}."
            heads = [f"self_attn.{name}_proj" for name in "qkv"]
            self._layers.append(
                _Layer(
                    weights[layer + "input_layernorm.weight"].to(device, copy=True),
                    product(layer, *heads),
                    product(layer, "self_attn.o_proj"),
                    weights[layer + "post_attention_layernorm.weight"].to(
                        device, copy=True
                    ),
                    product(layer, "mlp.gate_proj", "mlp.up_proj"),
                    product(layer, "mlp.down_proj"),
                )
            )
        self._norm = weights["norm.weight"].to(device, copy=True)
        self._cosine, self._sine = _rotations(assets, device)

    def forward(self, rows: Sequence[Row], inputs: Tensor, cache: Tensor) -> Tensor:
        """Compute rows, each by itself; see :meth:`compute`.

        Args:
            rows: Where each row stands; a sequence's rows in order of position.
            inputs: Embedded tokens [rows, hidden], float32.
            cache: Keys and values, [layers, 2, heads, tokens, head width].

        Returns:
            Hidden states after the last norm, [rows, hidden], float32.
        """
        positions = torch.tensor([row.position for row in rows], device=self._device)
        starts = torch.tensor([row.start for row in rows], device=self._device)
        return self.compute(inputs, starts, positions, cache, row_by_row(rows))

    def compute(
        self,
        inputs: Tensor,
        starts: Tensor,
        positions: Tensor,
        cache: Tensor,
        attend: Attend,
    ) -> Tensor:
        """Compute rows; their keys and values are written to the cache.

        Args:
            inputs: Embedded tokens [rows, hidden], float32.
            starts: Where each row's sequence begins in the cache, [rows].
            positions: Each row's place in its sequence, [rows].
            cache: Keys and values, [layers, 2, heads, tokens, head width].
            attend: How rows attend.

        Returns:
            Hidden states after the last norm, [rows, hidden], float32.
        """
        count = inputs.shape[0]
        places = starts + positions
        turn = self._cosine[positions], self._sine[positions]
        state = padded(inputs)
        eps = self._shape.eps
        for layer, memory in zip(self._layers, cache, strict=True):
            normed = _norm(state, layer.before_attention, eps)
            mixed = layer.query_key_value(normed)[:count]
            queries = self._remember(mixed, memory, places, turn)
            attended = attend(queries, memory).float().reshape(count, -1)
            state = state + layer.attention_out(padded(attended))
            normed = _norm(state, layer.before_feed, eps)
            gate, up = layer.gate_up(normed).chunk(2, dim=-1)
            state = state + layer.feed_out(functional.silu(gate) * up)
        return _norm(state[:count], self._norm, eps)

    def _remember(
        self,
        mixed: Tensor,
        memory: Tensor,
        places: Tensor,
        turn: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Keep the rows' keys and values; returns their queries."""
        shape = self._shape
        split = mixed.view(-1, 3, shape.heads, shape.head_width)
        turned = _turned(split[:, :2], *turn)
        fresh = torch.stack((turned[:, 1], split[:, 2])).transpose(1, 2)
        memory.index_copy_(2, places, fresh.to(memory.dtype))
        return turned[:, 0].to(memory.dtype)


def _norm(state: Tensor, gain: Tensor, eps: float) -> Tensor:
    """RMS norm over the last axis."""
    return functional.rms_norm(state, gain.shape, gain, eps)


def _rotations(assets: Assets, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every position, [positions, 1, 1, head width].

    Rotary positions as in RoFormer (Su et al., 2021), halves rotated together; the
    sine of the first half carries the sign, so that turning is one fused product.
    """
    shape = assets.shape
    half = torch.arange(0, shape.head_width, 2, dtype=torch.float32) / shape.head_width
    angles = torch.outer(
        torch.arange(shape.max_positions, dtype=torch.float32),
        1.0 / torch.pow(torch.tensor(shape.rope_base), half),
    )
    cosine, sine = angles.cos(), angles.sin()
    turns = torch.cat((cosine, cosine), -1), torch.cat((-sine, sine), -1)
    return turns[0][:, None, None].to(device), turns[1][:, None, None].to(device)


def _turned(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Queries and keys at their positions."""
    return heads * cosine + heads.roll(heads.shape[-1] // 2, -1) * sine
