"""What happens to our ChatTTS engine when requests come, go, and are in each other's way."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from cloud.engine.chattts.request import Request
from common.audio.pcm import SAMPLE_RATE
from tests.bench.engine_stage import Model, Part, Stage, together

PAGE_BYTES = 4096
STEP_SAMPLES = 512
PACE = 0.35
"""Real-time factor of the simulated clock."""
EXACT = 1e-6
LONG_STEPS, HEADSTART = 400, 30
SLOTS = 16


def memory_bytes() -> int:
    """Memory that this process has resident."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def early_start(model: Model, request: Request) -> dict[str, Any]:
    """One stream: when its sound leaves, how near it is, and whether playback waits.

    Args:
        model: Ours.
        request: Long enough for the exact stream to take over.

    Returns:
        Figures; the clock is simulated, at :data:`PACE`.
    """
    part = together(model, [request], has_sound=True).parts[0]
    whole = model.vocoder.whole(_hidden(part))
    heard = part.sound
    gap = np.abs(heard - whole)
    wrong = np.flatnonzero(gap > EXACT)
    exact_from = int(wrong[-1]) + 1 if wrong.size else 0
    step_s = PACE * STEP_SAMPLES / SAMPLE_RATE
    sent, start, waited = 0, part.heard[0][0] * step_s, 0.0
    for step, _, piece in part.heard:
        waited = max(waited, step * step_s - (start + sent / SAMPLE_RATE))
        sent += piece.size
    return {
        "first_sound_step": part.heard[0][0],
        "exact_from_s": exact_from / SAMPLE_RATE,
        "windowed_max_diff": float(gap.max()),
        "exact_max_diff": float(gap[exact_from:].max(initial=0.0)),
        "peak": float(np.abs(whole).max()),
        "simulated_rtf": PACE,
        "underrun_s": waited,
    }


def _hidden(part: Part) -> Any:
    import torch

    return torch.stack(part.hidden)


def first_sounds(model: Model, text: str, steps: int) -> tuple[float, float]:
    """Seconds to a short request's first sound: with a slot free, and behind 32 long.

    Args:
        model: Ours.
        text: What all say.
        steps: Steps of the short request.

    Returns:
        With 15 long ones running and one slot free; with 32 long ones there.
    """
    return (
        _first_sound(model, text, steps, SLOTS - 1),
        _first_sound(model, text, steps, 2 * SLOTS),
    )


def _first_sound(model: Model, text: str, steps: int, others: int) -> float:
    stage = Stage(model, rows=SLOTS, has_sound=True)
    parts = [stage.add(model.request(text, seed, LONG_STEPS)) for seed in range(others)]
    # The longs' own prompts and first sounds must be over.
    while min(len(part.codes) for part in parts) < HEADSTART:
        stage.tick()
    short = stage.add(model.request(text, others, steps))
    while not short.heard:
        stage.tick()
    for part in (*parts, short):
        stage.abort(part)
    return short.first_sound


def churn(model: Model, texts: list[str], requests: int, steps: int) -> dict[str, Any]:
    """Requests of all lengths join and leave, some before their end.

    Args:
        model: Ours.
        texts: What they say, in turn.
        requests: How many.
        steps: Most steps of one.

    Returns:
        Figures. The slope is that of a line, by least squares, through the memory after
        each request of the second half, with the error of the fit; some of those that
        reached their end are compared with themselves alone.
    """
    chance = random.Random(0)
    stage = Stage(model, rows=SLOTS, has_sound=True)
    waiting = [
        model.request(texts[n % len(texts)], n, chance.randint(2, steps))
        for n in range(requests)
    ]
    running: dict[int, tuple[Part, int]] = {}
    memory: list[int] = []
    survivors: dict[int, list[tuple[int, ...]]] = {}
    joined = aborted = 0
    while joined < requests or running:
        while joined < requests and len(running) < SLOTS + 4 and chance.random() < 0.7:
            request = waiting[joined]
            # A fifth leave early, at any step, the first included.
            leaves = request.sampling.max_steps if chance.random() < 0.8 else 0
            until = leaves or chance.randrange(request.sampling.max_steps)
            running[joined] = stage.add(request), until
            joined += 1
        stage.tick()
        for number, (part, until) in list(running.items()):
            is_over = part.ended > 0
            if is_over or len(part.codes) >= until:
                if is_over:
                    survivors[number] = part.codes
                else:
                    stage.abort(part)
                    aborted += 1
                del running[number]
                memory.append(memory_bytes())
    half = np.array(memory[len(memory) // 2 :], np.float64)
    line, errors = np.polyfit(np.arange(half.size), half, 1, cov=True)
    sample = sorted(survivors)[:: max(len(survivors) // 24, 1)]
    same = sum(_alone(model, waiting[n]) == survivors[n] for n in sample)
    return {
        "requests": requests,
        "aborted": aborted,
        "memory_slope_bytes_per_request": float(line[0]),
        "memory_slope_error": float(np.sqrt(errors[0, 0])),
        "memory_mib": float(half.mean()) / 2**20,
        "slots_still_held": model.runner.slots.held,
        "survivors_compared": len(sample),
        "survivors_identical": same,
    }


def _alone(model: Model, request: Request) -> list[tuple[int, ...]]:
    return together(model, [request], has_sound=False).parts[0].codes
