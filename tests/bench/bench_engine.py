"""ChatTTS's weights: our engine beside the package that they come with, in one run.

Full-size random assets, fp32, two threads for each side, one side at a time. Every
request is made to take the same number of steps. The package serves requests one after
another, sound included, not streaming; the first n of them are its answer to n requests
at the same time. Ours runs them together. Each figure is the median of three pairs.
Tokens a second exclude prompts and sound on both sides; a real-time factor is seconds
until the last request has all its sound, prompts included, by the seconds of one sound.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cloud.engine.reference.client import PackageProcess
from tests.bench.engine_figure import draw
from tests.bench.engine_package import Served, batch_rate, serve
from tests.tools.chattts_cases import PYTHON

if TYPE_CHECKING:
    from tests.bench.engine_stage import Model, Run

NEEDS = ("torch", "safetensors", "tokenizers", ".venv-reference/bin/python")
FIGURE = Path(__file__).resolve().parents[2] / "bench-out" / "engine.svg"
STEP_S = 512 / 24_000
"""Seconds of sound of one step."""
TEXT_LENGTH = 16
BATCH = 16


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        size: Of the assets.
        steps: Steps of each request.
        counts: Requests at the same time.
        pairs: How often both sides are measured.
        long_steps: Steps of the stream whose early start is looked at.
        churn: Requests that come and go.
        churn_steps: Most steps of one of them.
        cache_mib: Memory for keys and values.
        threads: Of each side.
        figure: Where the figure goes.
    """

    size: str = "full"
    steps: int = 48
    counts: tuple[int, ...] = (1, 8, 16, 32)
    pairs: int = 3
    long_steps: int = 150
    churn: int = 500
    churn_steps: int = 16
    cache_mib: int = 4096
    threads: int = 2
    figure: Path = FIGURE


@dataclass(frozen=True)
class Pair:
    """Both sides, once.

    Attributes:
        package: The package, one request after another.
        batch: Tokens a second of the package's own batch.
        tokens: Ours without sound, by count.
        sound: Ours with sound, streamed, by count.
        free: Seconds to a short request's first sound with a slot free.
        crowded: The same behind 32 long requests.
    """

    package: Served
    batch: float
    tokens: dict[int, Run]
    sound: dict[int, Run]
    free: float
    crowded: float


def texts(count: int) -> list[str]:
    """Texts that every asset folder has tokens for, all different."""
    rng = np.random.default_rng(0)
    return [
        "".join(map(chr, 0x4E00 + rng.integers(0, 300, TEXT_LENGTH)))
        for _ in range(count)
    ]


def run(plan: Plan | None = None) -> dict[str, Any]:
    """Measure both sides.

    Args:
        plan: How much; the usual when absent.

    Returns:
        Rows for each count, ratios, and what else was seen.
    """
    from tests.bench.engine_stage import Model
    from tests.tools.kept_assets import kept

    plan = plan or Plan()
    began = time.perf_counter()
    folder = kept(plan.size)
    package = PackageProcess(PYTHON, folder, threads=plan.threads)
    try:
        speaker = package.speaker(0)
        model = Model(folder, threads=plan.threads, cache_mib=plan.cache_mib)
        said = texts(max(plan.counts))
        _, embedded = package.prompt(said[0], spk_emb=speaker)
        model.speaker = _tensor(embedded[1])
        _warm(package, model, said, speaker)
        pairs = [
            _pair(plan, package, model, said, speaker, turn)
            for turn in range(plan.pairs)
        ]
    finally:
        package.close()
    result = _result(plan, pairs)
    result.update(_ours_alone(plan, model, said))
    _bandwidth(result, model, pairs)
    result["seconds"] = time.perf_counter() - began
    _draw(plan.figure, result["rows"])
    return result


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array.copy())


def _warm(
    package: PackageProcess, model: Model, said: Sequence[str], speaker: str
) -> None:
    """Take every path once, so that nobody pays for what comes first."""
    from tests.bench.engine_stage import together

    serve(package, said[:1], speaker, 4)
    requests = [model.request(text, 0, 13) for text in said[:2]]
    together(model, requests, has_sound=True)


def _pair(
    plan: Plan,
    package: PackageProcess,
    model: Model,
    said: Sequence[str],
    speaker: str,
    turn: int,
) -> Pair:
    """Measure both sides once; who comes first changes from turn to turn."""
    from tests.bench.engine_stage import together
    from tests.bench.engine_stress import first_sounds

    def theirs() -> tuple[Served, float]:
        served = serve(package, said, speaker, plan.steps)
        return served, batch_rate(package, said[:BATCH], speaker, plan.steps)

    def ours(*, has_sound: bool) -> dict[int, Run]:
        found = {}
        for count in plan.counts:
            # Alone it is another one each turn, so that more are compared.
            first = turn % len(said) if count == 1 else 0
            chosen = range(first, first + count)
            requests = [model.request(said[n], n, plan.steps) for n in chosen]
            found[count] = together(model, requests, has_sound=has_sound)
        return found

    if turn % 2:
        tokens, sound = ours(has_sound=False), ours(has_sound=True)
        served, batch = theirs()
    else:
        served, batch = theirs()
        tokens, sound = ours(has_sound=False), ours(has_sound=True)
    free, crowded = first_sounds(model, said[0], plan.steps)
    return Pair(served, batch, tokens, sound, free, crowded)


def _result(plan: Plan, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Rows and ratios: medians over the pairs."""

    def median(values: Sequence[float]) -> float:
        return statistics.median(values)

    heard_s = (2 * plan.steps - 1) / 2 * STEP_S
    rows: list[dict[str, Any]] = []
    for count in plan.counts:
        theirs = [pair.package.rate(count) for pair in pairs]
        ours = [pair.tokens[count].rate for pair in pairs]
        spent = [pair.package.spent(count, has_prompts=True) for pair in pairs]
        taken = [_whole(pair.sound[count]) for pair in pairs]
        rows.append(
            {
                "at once": count,
                "package tok/s": median(theirs),
                "ours tok/s": median(ours),
                "ratio tokens": median(
                    [b / a for a, b in zip(theirs, ours, strict=True)]
                ),
                "ratio sound": median([_sound_ratio(pair, count) for pair in pairs]),
                "ratio all": median([a / b for a, b in zip(spent, taken, strict=True)]),
                "package RTF": median(spent) / heard_s,
                "ours RTF": median(taken) / heard_s,
                "ours first sound s": median(
                    [
                        max(part.first_sound for part in pair.sound[count].parts)
                        for pair in pairs
                    ]
                ),
            }
        )
    ratio = {row["at once"]: row for row in rows}
    most, least = max(n for n in plan.counts if n <= BATCH), plan.counts[0]
    same, compared = _identical(pairs)
    return {
        "rows": rows,
        "pairs": plan.pairs,
        "steps": plan.steps,
        "prompt_tokens": TEXT_LENGTH + 4,
        "threads": plan.threads,
        **{f"ratio_{count}": ratio[count]["ratio tokens"] for count in plan.counts},
        f"ratio_sound_{most}": ratio[most]["ratio sound"],
        f"ratio_sound_{most}_prompts_included": ratio[most]["ratio all"],
        "growth_tokens": median(
            [_growth(pair.tokens[least], pair.tokens[most]) for pair in pairs]
        ),
        "growth_sound": median(
            [_growth(pair.sound[least], pair.sound[most]) for pair in pairs]
        ),
        "package_batch_tok_s": median([pair.batch for pair in pairs]),
        f"ratio_batch_{BATCH}": median(
            [pair.tokens[most].rate / pair.batch for pair in pairs]
        ),
        "identical_tokens": same == compared,
        "identical_tokens_compared": compared,
        "first_sound_slot_free_s": median([pair.free for pair in pairs]),
        "first_sound_32_long_s": median([pair.crowded for pair in pairs]),
        "first_sound_ratio": median([pair.crowded / pair.free for pair in pairs]),
        "raw": [_raw(pair) for pair in pairs],
    }


def _whole(run: Run) -> float:
    """Seconds from the first request to the last sound."""
    return run.prompts_s + sum(run.steps_s)


def _sound_ratio(pair: Pair, count: int) -> float:
    """With sound, prompts excluded on both sides."""
    theirs = pair.package.spent(count, has_prompts=False)
    return theirs / sum(pair.sound[count].steps_s)


def _growth(one: Run, many: Run) -> float:
    """How much longer a stream takes in company."""
    return sum(many.steps_s) / sum(one.steps_s)


def _identical(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Runs of the same request that drew the same codes, and all of them."""
    drawn: dict[tuple[int, tuple[int, ...]], list[Any]] = {}
    for pair in pairs:
        for made in (*pair.tokens.values(), *pair.sound.values()):
            for part in made.parts:
                asked = part.ticket.request
                key = asked.seed, tuple(asked.prompt.ids)
                drawn.setdefault(key, []).append(part.codes)
    compared = [(each, codes[0]) for codes in drawn.values() for each in codes[1:]]
    return sum(a == b for a, b in compared), len(compared)


def _raw(pair: Pair) -> dict[str, Any]:
    """One pair's own figures."""
    return {
        "package_request_s": [each.spent for each in pair.package.spoken],
        "package_tok_s": {n: pair.package.rate(n) for n in pair.tokens},
        "package_batch_tok_s": pair.batch,
        "tok_s": {n: made.rate for n, made in pair.tokens.items()},
        "step_ms": {
            n: 1000 * statistics.median(made.steps_s) for n, made in pair.tokens.items()
        },
        "prompts_s": {n: made.prompts_s for n, made in pair.tokens.items()},
        "sound_s": {n: _whole(made) for n, made in pair.sound.items()},
        "first_sound_s": {
            n: [part.first_sound for part in made.parts]
            for n, made in pair.sound.items()
        },
        "first_sound_slot_free_s": pair.free,
        "first_sound_32_long_s": pair.crowded,
    }


def _ours_alone(plan: Plan, model: Model, said: list[str]) -> dict[str, Any]:
    """What has no counterpart: the early start, and requests that come and go."""
    from tests.bench.engine_stress import churn, early_start

    request = model.request(said[0], 0, plan.long_steps)
    return {
        "early_start": early_start(model, request),
        "churn": churn(model, said, plan.churn, plan.churn_steps),
    }


def _bandwidth(result: dict[str, Any], model: Model, pairs: Sequence[Pair]) -> None:
    """How near one stream comes to reading its weights as fast as memory gives them."""
    import torch

    buffer = torch.ones(1 << 28)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        buffer.sum()
        seconds.append(time.perf_counter() - began)
    rate = buffer.numel() * buffer.element_size() / min(seconds)
    floor = model.step_bytes / rate
    step = statistics.median(
        statistics.median(pair.tokens[min(pair.tokens)].steps_s) for pair in pairs
    )
    result["memory_gb_s"] = rate / 1e9
    result["step_floor_ms"], result["step_ms"] = 1000 * floor, 1000 * step
    result["share_of_bandwidth"] = floor / step


def _draw(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """The figure for people."""
    draw(
        path,
        "Real-time factor of the slowest stream (two CPU cores, fp32)",
        [row["at once"] for row in rows],
        {
            "ChatTTS package": [row["package RTF"] for row in rows],
            "Yaohe, streamed": [row["ours RTF"] for row in rows],
        },
    )
