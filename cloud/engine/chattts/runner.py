"""One step of the model on one device: embed, run, and score the last rows.

The runner knows tensors and slots and nothing about requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cloud.engine.chattts.assets import Assets, Weights
from cloud.engine.chattts.attention import Row
from cloud.engine.chattts.graphs import Graphs
from cloud.engine.chattts.linear import DType, linear, padded
from cloud.engine.chattts.network import Network
from cloud.engine.chattts.slots import Slot, Slots


@dataclass(frozen=True)
class Feed:
    """Tokens that one sequence puts into a step.

    Attributes:
        slot: Its run of the cache.
        position: Place of the first token in the sequence.
        inputs: Embedded tokens [tokens, hidden].
    """

    slot: Slot
    position: int
    inputs: Tensor


class Runner:
    """The model on one device, with its cache.

    Attributes:
        shape: Sizes of the model.
        slots: The cache of keys and values.
    """

    def __init__(
        self,
        assets: Assets,
        *,
        budget_bytes: int,
        dtype: DType = "fp32",
        device: str = "cpu",
        has_graphs: bool = False,
    ) -> None:
        """Lay out weights and cache.

        Args:
            assets: Checked weights.
            budget_bytes: Most bytes of keys and values.
            dtype: What products compute in; int8 keeps the heads in float32.
            device: A torch device.
            has_graphs: Whether steps have fixed sizes, which a GPU records and
                replays; a row's last bits then depend on its company.
        """
        self.shape = assets.shape
        self._device = torch.device(device)
        kind = torch.bfloat16 if dtype == "bf16" else torch.float32
        self.slots = Slots(
            assets.shape,
            budget_bytes,
            kind=kind,
            device=self._device,
            spare=int(has_graphs),
        )
        embed = assets.embed
        codebooks = range(assets.shape.codebooks)
        with torch.inference_mode():
            self._network = Network(assets, dtype, self._device)
            self._graphs = self._fixed() if has_graphs else None
            self._text = embed["emb_text.weight"].to(self._device, copy=True)
            self._codes = torch.stack(
                [embed[f"emb_code.{index}.weight"] for index in codebooks]
            ).to(self._device)
            heads = [_weight(embed, f"head_code.{index}") for index in codebooks]
            of_heads: DType = "bf16" if dtype == "bf16" else "fp32"
            self._code_head = linear(torch.cat(heads), of_heads, self._device)
            text_head = _weight(embed, "head_text")
            self._text_head = linear(text_head, of_heads, self._device)

    @torch.inference_mode()
    def embed_prompt(
        self, ids: Sequence[int], speaker_at: int | None, speaker: Tensor | None
    ) -> Tensor:
        """Embed a prompt.

        Args:
            ids: Text tokens.
            speaker_at: Place of the token that a speaker vector replaces.
            speaker: The vector [hidden]; only its direction counts.

        Returns:
            Vectors [tokens, hidden].
        """
        inputs = self._text[torch.tensor(ids, device=self._device)]
        if speaker_at is not None and speaker is not None:
            direction = torch.nn.functional.normalize(speaker.float(), dim=0)
            inputs[speaker_at] = direction.to(self._device)
        return inputs

    @torch.inference_mode()
    def embed_text(self, tokens: Sequence[int]) -> Tensor:
        """Embed written tokens.

        Args:
            tokens: Text tokens.

        Returns:
            Vectors [tokens, hidden].
        """
        return self._text[torch.tensor(tokens, device=self._device)]

    @torch.inference_mode()
    def embed_codes(self, codes: Sequence[Sequence[int]]) -> Tensor:
        """Embed steps: a step is the sum of its codes' vectors.

        Args:
            codes: Codes of each step [steps, codebooks].

        Returns:
            Vectors [steps, hidden].
        """
        columns = torch.tensor(codes, device=self._device).unbind(1)
        parts = [
            table[column] for table, column in zip(self._codes, columns, strict=True)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole + part
        return whole

    @torch.inference_mode()
    def run(self, feeds: Sequence[Feed]) -> Tensor:
        """Run the tokens of some sequences.

        Args:
            feeds: What each sequence puts in; one feed a sequence.

        Returns:
            Hidden state of each feed's last token, [feeds, hidden], float32.
        """
        rows: list[Row] = []
        last: list[int] = []
        for feed in feeds:
            count = feed.inputs.shape[0]
            if feed.position + count > feed.slot.tokens:
                raise IndexError("a sequence outgrew its slot")
            rows.extend(
                Row(feed.slot.start, feed.position + index) for index in range(count)
            )
            last.append(len(rows) - 1)
        inputs = torch.cat([feed.inputs for feed in feeds])
        if self._graphs is not None:
            return self._graphs.forward(rows, inputs)[last]
        return self._network.forward(rows, inputs, self.slots.cache)[last]

    @property
    def fixed_sizes(self) -> list[tuple[int, int]]:
        """Rows and spans of the steps of fixed sizes met so far."""
        return [] if self._graphs is None else self._graphs.sizes

    def _fixed(self) -> Graphs:
        """Steps of fixed sizes over the cache and its spare token."""
        slots = self.slots
        return Graphs(self._network, slots.cache, slots.tokens, self.shape.hidden)

    @torch.inference_mode()
    def code_logits(self, hidden: Tensor) -> Tensor:
        """Score codes.

        Args:
            hidden: Hidden states [rows, hidden].

        Returns:
            Logits [rows, codebooks, codes], float32.
        """
        shape = self.shape
        scores = self._code_head(padded(hidden))[: hidden.shape[0]]
        return scores.view(-1, shape.codebooks, shape.codes)

    @torch.inference_mode()
    def text_logits(self, hidden: Tensor) -> Tensor:
        """Score text tokens.

        Args:
            hidden: Hidden states [rows, hidden].

        Returns:
            Logits [rows, 1, text tokens], float32.
        """
        return self._text_head(padded(hidden))[: hidden.shape[0], None]


def _weight(embed: Weights, name: str) -> Tensor:
    """A head's weights from gain and direction of each row, computed once."""
    prefix = f"{name}.parametrizations.weight.original"
    direction = embed[prefix + "1"]
    return embed[prefix + "0"] * direction / direction.norm(dim=1, keepdim=True)
