"""Drawing codes: each request by its own rules and its own random numbers.

The order is that of the published model: temperature, repetition penalty, top-P, then
top-K, then the end is forbidden while it would come too early, then one draw for each
codebook. Rows are computed together, yet no row sees another: every sum runs along a
row, and each request draws from a generator of its own, one number a codebook a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from common.errors import YaoheError

WINDOW = 16
"""Steps that the repetition penalty looks back."""
MIN_KEPT = 3
"""Codes that top-P and top-K always leave."""
MAX_TOP_K = 64
"""Most codes that one draw chooses from."""


@dataclass(frozen=True)
class Sampling:
    """How a request's codes are drawn, and how many.

    Attributes:
        temperature: Divides the logits, 0-10; 0 takes the most probable code always.
        top_p: Least probability that the kept codes have together, 0-1.
        top_k: Most codes kept, 1-64; at least three are.
        repetition_penalty: Weakens a code for each time it came in the last 16 steps.
        min_steps: Steps before which speech cannot end.
        max_steps: Steps after which it ends.
    """

    temperature: float = 0.3
    top_p: float = 0.7
    top_k: int = 20
    repetition_penalty: float = 1.05
    min_steps: int = 0
    max_steps: int = 2048

    def __post_init__(self) -> None:
        """Refuse what has no meaning.

        Raises:
            YaoheError: ``invalid_request`` naming the parameter.
        """
        checks = {
            "temperature": 0.0 <= self.temperature <= 10.0,
            "top_p": 0.0 < self.top_p <= 1.0,
            "top_k": 1 <= self.top_k <= MAX_TOP_K,
            "repetition_penalty": 0.1 <= self.repetition_penalty <= 10.0,
            "min_steps": self.min_steps >= 0,
            "max_steps": self.max_steps >= 1,
        }
        for name, is_right in checks.items():
            if not is_right:
                value = getattr(self, name)
                raise YaoheError(
                    "invalid_request", f"{name} cannot be {value}", param=name
                )


@dataclass
class Draws:
    """What one request has drawn, and its source of chance.

    Attributes:
        sampling: Its rules.
        generator: Its own random numbers.
        end: The code that ends it.
        codes: Codes of every step so far, a list of codebooks each.
    """

    sampling: Sampling
    generator: torch.Generator
    end: int
    codes: list[list[int]] = field(default_factory=list)

    @classmethod
    def begin(cls, sampling: Sampling, seed: int, end: int) -> Draws:
        """Start a request.

        Args:
            sampling: Its rules.
            seed: Where its random numbers begin, 0 to 2**63 - 1.
            end: The code that ends it.

        Returns:
            An empty history.
        """
        return cls(sampling, torch.Generator().manual_seed(seed), end)


def sample(logits: Tensor, rows: Sequence[Draws]) -> list[list[int]]:
    """Draw one step for some requests; their histories are left as they are.

    Args:
        logits: Scores [rows, codebooks, codes], float32.
        rows: The requests, in the same order.

    Returns:
        A list of codebooks for each row.
    """
    # Few numbers: the host draws them wherever the network runs.
    logits = logits.float().cpu()
    scores = _penalised(logits / _column(rows, "temperature", least=1e-6), rows)
    wide = min(MAX_TOP_K, scores.shape[-1])
    best, codes = scores.topk(wide, dim=-1)
    kept = _kept(scores.softmax(-1).gather(-1, codes), codes, rows)
    top = torch.where(kept, best, -torch.inf).amax(-1, keepdim=True)
    weights = torch.where(kept, (best - top).exp(), 0.0).double()
    summed = weights.cumsum(-1)
    chances = [
        torch.rand(logits.shape[1], generator=row.generator, dtype=torch.float64)
        for row in rows
    ]
    share = torch.stack(chances)[..., None] * summed[..., -1:]
    # The first kept code whose sum passes the drawn share of the whole; rounding may
    # put the share on the whole itself, then the last.
    drawn = (summed <= share).sum(-1, keepdim=True)
    last = torch.where(kept, torch.arange(wide), 0).amax(-1, keepdim=True)
    chosen = codes.gather(-1, torch.minimum(drawn, last))
    made: list[list[int]] = chosen.squeeze(-1).tolist()
    return made


def _kept(probable: Tensor, codes: Tensor, rows: Sequence[Draws]) -> Tensor:
    """Which of the most probable codes may be drawn, best first."""
    rank = torch.arange(codes.shape[-1])
    before = probable.cumsum(-1) - probable
    kept = (before < _column(rows, "top_p")) | (rank < MIN_KEPT)
    kept &= rank < _column(rows, "top_k").clamp_min(MIN_KEPT)
    is_early = [len(row.codes) < row.sampling.min_steps for row in rows]
    ends = torch.tensor([row.end for row in rows])[:, None, None]
    kept &= ~(torch.tensor(is_early)[:, None, None] & (codes == ends))
    is_greedy = _column(rows, "temperature") == 0
    return kept & ~(is_greedy & (kept.cumsum(-1) > 1))


def _column(rows: Sequence[Draws], name: str, least: float = 0.0) -> Tensor:
    """One parameter of every row, [rows, 1, 1]."""
    values = [max(float(getattr(row.sampling, name)), least) for row in rows]
    return torch.tensor(values)[:, None, None]


def _penalised(logits: Tensor, rows: Sequence[Draws]) -> Tensor:
    """Logits weakened for codes that came lately: divided, or times where negative."""
    if all(row.sampling.repetition_penalty == 1.0 for row in rows):
        return logits
    codebooks = logits.shape[1]
    unseen = logits.shape[-1]
    recent = [
        [[unseen] * codebooks] * (WINDOW - len(row.codes[-WINDOW:]))
        + row.codes[-WINDOW:]
        for row in rows
    ]
    seen = torch.tensor(recent).transpose(1, 2)
    counts = torch.zeros(len(rows), codebooks, unseen + 1)
    counts.scatter_add_(-1, seen, torch.ones(seen.shape))
    factor = _column(rows, "repetition_penalty") ** counts[..., :unseen]
    return torch.where(logits < 0, logits * factor, logits / factor)
