"""Holds an asset folder's sound against the ChatTTS package, where the weights are.

Whoever has real weights, or a GPU, checks here what no test of this project can: that
this engine computes what the package computes, how fast both are, and what int8 costs.
The package runs in an environment and a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cloud.engine.chattts.assets import Assets, load
from cloud.engine.chattts.linear import DType
from cloud.engine.chattts.request import Request
from cloud.engine.chattts.runner import Runner
from cloud.engine.chattts.sampler import Draws, Sampling, sample
from cloud.engine.chattts.scheduler import Scheduler
from cloud.engine.chattts.sequence import Prompt, Tokenizer
from cloud.engine.chattts.stream import Vocoder
from cloud.engine.reference.client import PackageProcess, Trace
from common.errors import YaoheError

TEXTS = ("欢迎光临今天特价", "请到三号窗口取餐", "一丁七上下三万不与", "hello world")
"""Checked as far as the tokenizer knows their characters; nothing but plain words."""
SPEAKER_SEED = 1
EXACT = 1e-4
"""Bar of logits and hidden states; the package differs from itself by 2e-5."""
SOUND = 1e-5
"""Bar of samples."""
BATCHES = (1, 8, 16)
"""Requests at the same time whose speed is measured."""
CACHE_BYTES = 2 << 30

Array = NDArray[Any]


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        what: What was looked at.
        value: What was found.
        bar: What is wanted, empty where nothing is.
        is_right: Whether the bar is met; None where there is none.
    """

    what: str
    value: str
    bar: str = ""
    is_right: bool | None = None


@dataclass(frozen=True)
class Case:
    """A text as the package sees it.

    Attributes:
        text: The text.
        ids: Tokens of its prompt.
        embedded: The prompt's embedding [tokens, hidden], speaker included.
        codes: What its steps are forced to draw [steps, codebooks].
        forced: What the package computes then.
        greedy: What it draws when it takes the most probable.
    """

    text: str
    ids: Array
    embedded: Array
    codes: Array
    forced: Trace
    greedy: Array


def verify(
    directory: Path, python: Path, *, steps: int, threads: int, device: str
) -> Iterator[Finding]:
    """Compare this engine with the package.

    Args:
        directory: The asset folder.
        python: The interpreter of the environment that has the package.
        steps: Steps of each comparison; 47 are a second of sound.
        threads: Threads that each side computes with.
        device: Torch device of this engine; the package stays on the processor.

    Yields:
        Findings, as soon as they are known.

    Raises:
        YaoheError: ``pack_invalid``: the folder is none, or the package refuses it.
    """
    torch.set_num_threads(threads)
    assets = load(directory)
    shape = assets.shape
    yield Finding("digest", assets.digest)
    yield Finding("terms", assets.licence)
    yield Finding("model", f"{shape.layers} layers of {shape.hidden}")
    tokenizer = Tokenizer(assets.tokenizer)
    texts = [text for text in TEXTS if not tokenizer.words(text).unsayable]
    if not texts:
        raise YaoheError("pack_invalid", f"{assets.tokenizer} knows none of our words")
    with closing(PackageProcess(python, directory, threads=threads)) as package:
        speaker = package.speaker(SPEAKER_SEED)
        cases = [_case(package, text, speaker, steps, shape.codes) for text in texts]
        exact = Runner(assets, budget_bytes=CACHE_BYTES, device=device)
        yield from _parity(exact, tokenizer, cases)
        yield _sound(Vocoder(assets, device=device), package, cases[0])
        serial = _package_rate(package, texts[0], speaker, steps)
        yield Finding("package, one after another", f"{serial:.1f} steps/s")
        yield from _speed("fp32", exact, cases[0], steps, serial)
    del exact
    yield from _int8(assets, device, cases, steps, serial)


def _case(
    package: PackageProcess, text: str, speaker: str, steps: int, codes: int
) -> Case:
    """Ask the package about a text."""
    ids, embedded = package.prompt(text, spk_emb=speaker)
    # The last code of a codebook ends speech.
    drawn = np.random.default_rng(len(text)).integers(0, codes - 1, (steps, 4))
    forced = package.trace(text, drawn, steps, spk_emb=speaker)
    greedy = package.trace(text, None, steps, spk_emb=speaker).codes
    return Case(text, ids, embedded, drawn, forced, greedy)


@dataclass(frozen=True)
class _Ran:
    """What our engine made of a case: hidden states, logits, codes, and when."""

    hidden: Array
    logits: Array
    codes: Array
    rate: float


def _run(
    runner: Runner, case: Case, codes: Array | None, rows: int, steps: int
) -> _Ran:
    """Run a case in some rows at once; without codes the most probable are taken."""
    logits: list[Tensor] = []

    def choose(scores: Tensor, drawing: Sequence[Draws]) -> list[list[int]]:
        logits.append(scores[0].detach().to("cpu", torch.float32))
        if codes is None:
            return sample(scores, drawing)
        return [codes[len(draws.codes)].tolist() for draws in drawing]

    rules = Sampling(0.0, repetition_penalty=1.0, min_steps=steps, max_steps=steps)
    scheduler = Scheduler(runner, rows=rows, choose=choose, prompt_tokens=1 << 20)
    tickets = [
        scheduler.submit(Request(Prompt(case.ids.tolist()), sampling=rules))
        for _ in range(rows)
    ]
    for ticket in tickets:
        # The package rounds a speaker to half floats; what comes after is compared.
        ticket.inputs = torch.from_numpy(case.embedded.copy()).to(ticket.inputs)
    made = list(scheduler.step())
    began = time.perf_counter()
    while scheduler.is_busy:
        made.extend(scheduler.step())
    spent = time.perf_counter() - began
    own = [one for one in made if one.ticket is tickets[0]]
    hidden = [one.hidden.float().cpu() for one in own if one.hidden is not None]
    return _Ran(
        torch.stack(hidden).numpy(),
        torch.stack(logits).numpy(),
        np.array([one.codes for one in own]),
        rows * (steps - 1) / spent,
    )


def _parity(
    runner: Runner, tokenizer: Tokenizer, cases: Sequence[Case]
) -> Iterator[Finding]:
    """Whether tokens, hidden states, logits and the most probable codes are equal."""
    alike = [
        list(tokenizer.speech(tokenizer.words(case.text)).ids) == case.ids.tolist()
        for case in cases
    ]
    yield _counted("prompts with the same tokens", alike)
    forced = [_run(runner, case, case.codes, 1, len(case.codes)) for case in cases]
    for what, ours, theirs in (
        ("hidden states", [r.hidden for r in forced], [c.forced.hidden for c in cases]),
        ("logits", [r.logits for r in forced], [c.forced.logits for c in cases]),
    ):
        most = max(map(_difference, ours, theirs))
        yield Finding(f"{what}, largest difference", *_below(most, EXACT))
    greedy = [_run(runner, case, None, 1, len(case.codes)).codes for case in cases]
    same = [
        bool(np.array_equal(g, c.greedy)) for g, c in zip(greedy, cases, strict=True)
    ]
    yield _counted("texts with the same most probable codes", same)


def _sound(vocoder: Vocoder, package: PackageProcess, case: Case) -> Finding:
    """Whether the same hidden states sound the same."""
    ours = vocoder.whole(torch.from_numpy(case.forced.hidden.copy()))
    theirs = package.decode(hidden=case.forced.hidden)
    return Finding(
        "samples, largest difference", *_below(_difference(ours, theirs), SOUND)
    )


def _package_rate(
    package: PackageProcess, text: str, speaker: str, steps: int
) -> float:
    """Steps a second of the package, its prompt excluded."""
    spoken = package.speak(
        [text], spk_emb=speaker, min_new_token=steps, max_new_token=steps
    )
    began = spoken.steps
    return (len(began) - 2) / (began[-1] - began[1])


def _speed(
    name: str, runner: Runner, case: Case, steps: int, serial: float
) -> Iterator[Finding]:
    """Steps a second of all requests together, and how often the package's."""
    for rows in BATCHES:
        rate = _run(runner, case, case.codes, rows, steps).rate
        times = f"{rate:.1f} steps/s, {rate / serial:.1f} times the package"
        yield Finding(f"{name}, {rows} at the same time", times)


def _int8(
    assets: Assets, device: str, cases: Sequence[Case], steps: int, serial: float
) -> Iterator[Finding]:
    """What int8 costs and gives."""
    dtype: DType = "int8"
    runner = Runner(assets, budget_bytes=CACHE_BYTES, dtype=dtype, device=device)
    forced = [_run(runner, case, case.codes, 1, steps) for case in cases]
    agree = [
        ran.logits.argmax(-1) == case.forced.logits.argmax(-1)
        for ran, case in zip(forced, cases, strict=True)
    ]
    share = float(np.mean([one.mean() for one in agree]))
    most = max(
        _difference(r.hidden, c.forced.hidden)
        for r, c in zip(forced, cases, strict=True)
    )
    scale = max(float(np.abs(case.forced.hidden).max()) for case in cases)
    yield Finding("int8, most probable codes that differ", f"{1 - share:.1%}")
    yield Finding(
        "int8, hidden states, largest difference", f"{most / scale:.1%} of all"
    )
    yield from _speed("int8", runner, cases[0], steps, serial)


def _difference(ours: Array, theirs: Array) -> float:
    """Largest difference; infinite for other shapes."""
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.abs(ours - theirs).max())


def _below(value: float, bar: float) -> tuple[str, str, bool]:
    """A difference, its bar, and whether it is met."""
    return f"{value:.1e}", f"at most {bar:.0e}", value <= bar


def _counted(what: str, alike: Sequence[bool]) -> Finding:
    """How many are alike; all should be."""
    return Finding(what, f"{sum(alike)} of {len(alike)}", "all", all(alike))


def report(findings: Iterator[Finding], say: Callable[[str], object]) -> bool:
    """Tell findings as they come.

    Args:
        findings: What was found.
        say: Takes a line.

    Returns:
        Whether every bar is met.
    """
    is_right = True
    for finding in findings:
        verdict = {None: "", True: "ok", False: "WRONG"}[finding.is_right]
        bar = f"({finding.bar})" if finding.bar else ""
        say(f"{finding.what:44} {finding.value} {bar} {verdict}".rstrip())
        is_right &= finding.is_right is not False
    return is_right
