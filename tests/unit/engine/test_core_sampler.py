"""Codes are drawn by each request's own rules and its own random numbers."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from torch import Tensor  # noqa: E402

from cloud.engine.chattts.sampler import Draws, Sampling, sample  # noqa: E402
from common.errors import YaoheError  # noqa: E402

pytestmark = pytest.mark.slow

END, CODES = 625, 626


def logits(rows: int, seed: int = 0) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(rows, 4, CODES, generator=chance)


def begun(seed: int = 0, past: int = 0, **rules: Any) -> Draws:
    draws = Draws.begin(Sampling(**rules), seed, END)
    chance = random.Random(seed)
    draws.codes += [[chance.randrange(END) for _ in range(4)] for _ in range(past)]
    return draws


def drawn(scores: list[float], times: int = 400, **rules: Any) -> Counter[int]:
    """How often each code is drawn for one codebook's scores; others are hopeless."""
    row = torch.full((1, 1, CODES), -100.0)
    row[0, 0, : len(scores)] = torch.tensor(scores)
    draws = begun(repetition_penalty=1.0, **rules)
    return Counter(sample(row, [draws])[0][0] for _ in range(times))


def logs(*chances: float) -> list[float]:
    return [math.log(chance) for chance in chances]


def test_a_row_draws_the_same_alone_and_in_any_company() -> None:
    scores = logits(32)
    rules = [
        {
            "temperature": 0.0 if n % 7 == 0 else 0.2 + n / 10,
            "top_p": 0.3 + n / 50,
            "top_k": 1 + 2 * n,
            "repetition_penalty": 1 + n / 40,
            "min_steps": n,
        }
        for n in range(32)
    ]
    alone = [
        sample(scores[n : n + 1], [begun(n, past=n, **rules[n])])[0] for n in range(32)
    ]
    together = sample(scores, [begun(n, past=n, **rules[n]) for n in range(32)])
    assert together == alone
    order = random.Random(1).sample(range(32), 32)
    mixed = sample(scores[order], [begun(n, past=n, **rules[n]) for n in order])
    assert mixed == [alone[n] for n in order]


def test_draws_follow_the_probabilities() -> None:
    seen = drawn(logs(0.5, 0.3, 0.2), 4000, temperature=1.0, top_p=1.0)
    assert set(seen) == {0, 1, 2}
    for code, chance in enumerate((0.5, 0.3, 0.2)):
        assert seen[code] / 4000 == pytest.approx(chance, abs=0.03)


def test_a_low_temperature_sharpens() -> None:
    seen = drawn(logs(0.5, 0.3, 0.2), 4000, temperature=0.5, top_p=1.0)
    assert seen[0] / 4000 == pytest.approx(0.25 / 0.38, abs=0.03)


def test_temperature_zero_takes_the_best() -> None:
    assert set(drawn(logs(0.3, 0.4, 0.3), temperature=0.0)) == {1}


def test_top_p_counts_all_codes_and_comes_before_top_k() -> None:
    flat = [0.0] * 40
    # 0.7 of forty equal codes are 28; a top-K of 64 leaves them alone.
    assert len(drawn(flat, 3000, temperature=1.0, top_p=0.7, top_k=64)) == 28
    # Were top-K first, 0.7 of its ten codes would be seven.
    assert len(drawn(flat, 3000, temperature=1.0, top_p=0.7, top_k=10)) == 10


def test_three_codes_are_always_kept() -> None:
    scores = logs(0.4, 0.3, 0.2, 0.1)
    assert set(drawn(scores, 2000, temperature=1.0, top_p=0.01)) == {0, 1, 2}
    seen = drawn(scores, 2000, temperature=1.0, top_p=1.0, top_k=1)
    assert set(seen) == {0, 1, 2}


def test_a_code_is_weakened_for_each_time_it_came() -> None:
    row = torch.zeros(1, 1, CODES)
    row[0, 0, :3] = torch.tensor([4.0, 3.0, -1.0])
    draws = begun(temperature=0.0, repetition_penalty=1.2)
    assert sample(row, [draws]) == [[0]]
    draws.codes += [[0]]
    assert sample(row, [draws]) == [[0]]  # 4 / 1.2 is still more than 3
    draws.codes += [[0]]
    assert sample(row, [draws]) == [[1]]  # 4 / 1.44 is less
    draws.codes += [[9]] * 16
    assert sample(row, [draws]) == [[0]]  # sixteen steps later it is forgotten


def test_a_negative_score_is_weakened_too() -> None:
    row = torch.full((1, 1, CODES), -9.0)
    row[0, 0, :2] = torch.tensor([-1.0, -1.1])
    draws = begun(temperature=0.0, repetition_penalty=1.5)
    draws.codes += [[0]]
    assert sample(row, [draws]) == [[1]]


def test_a_codebook_has_a_history_of_its_own() -> None:
    row = torch.zeros(1, 4, CODES)
    row[..., 5], row[..., 6] = 2.0, 1.9
    draws = begun(temperature=0.0, repetition_penalty=2.0)
    draws.codes += [[5, 0, 0, 5]]
    assert sample(row, [draws]) == [[6, 5, 5, 6]]


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0])
def test_the_end_waits_for_the_fewest_steps(temperature: float) -> None:
    row = torch.zeros(1, 4, CODES)
    row[..., END], row[..., 7] = 1000.0, 5.0
    draws = begun(temperature=temperature, min_steps=2)
    for _ in range(2):
        codes = sample(row, [draws])[0]
        assert END not in codes
        draws.codes.append(codes)
    assert sample(row, [draws])[0] == [END] * 4


def test_the_best_other_code_stands_in_for_a_forbidden_end() -> None:
    row = torch.full((1, 1, CODES), -50.0)
    row[..., END], row[..., 7], row[..., 8] = 1000.0, 5.0, -40.0
    draws = begun(temperature=0.3, min_steps=1)
    assert {sample(row, [draws])[0][0] for _ in range(200)} == {7}


def test_a_generator_moves_one_number_a_codebook_whatever_is_drawn() -> None:
    one, other = begun(3), begun(3, temperature=2.0, top_k=64)
    sample(logits(1), [one])
    sample(logits(1, seed=9), [other])
    assert torch.equal(one.generator.get_state(), other.generator.get_state())


@pytest.mark.parametrize(
    "rules",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": 11.0},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": 0},
        {"top_k": 65},
        {"repetition_penalty": 0.0},
        {"repetition_penalty": float("inf")},
        {"min_steps": -1},
        {"max_steps": 0},
    ],
)
def test_rules_without_a_meaning_are_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(YaoheError) as caught:
        Sampling(**rules)
    assert caught.value.code == "invalid_request"
    assert caught.value.param == next(iter(rules))
