"""What a cached phrase costs over HTTP, reading included, on one kept connection.

Both sides in one run on one box: the same phrases spoken by the model, and from the
cache: right after a restart (nothing in memory), in steady state, decoded, and while
another client makes the box speak. Budget: p99 of 5 ms idle, 25 ms while speaking.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.bench.boxes import Caller, calling, percentile, phrases, scaled
from tests.e2e.boxes import Box, metric, running_box

PHRASES = 1000
HOT = 100
ROUNDS = 3
FILL_TIMEOUT_S = 600


def fill(box: Box, texts: list[str]) -> list[float]:
    """Let the model speak every phrase, and wait until all are kept."""
    with calling(box) as caller:
        spoken = [caller.ask(text, "opus")[2] for text in texts]
    until = time.monotonic() + FILL_TIMEOUT_S
    with box.client() as client:
        while metric(client, "yaohe_edge_cache_renditions") < len(texts):
            if time.monotonic() > until:
                raise RuntimeError("the cache does not fill")
            time.sleep(0.1)
    return spoken


def hits(caller: Caller, texts: list[str], kind: str, seed: int) -> list[float]:
    """Ask for every phrase once, in a mixed order; all must come from the cache."""
    order = texts.copy()
    random.Random(seed).shuffle(order)
    took = []
    for text in order:
        tier, _, last_ms, _ = caller.ask(text, kind)
        if tier != "cache":
            raise RuntimeError(f"{text} came from {tier}")
        took.append(last_ms)
    return took


def row(side: str, rounds: list[list[float]]) -> dict[str, Any]:
    """One line of the table: medians over the rounds."""
    return {
        "side": side,
        "answers": len(rounds[0]),
        "rounds": len(rounds),
        "p50_ms": statistics.median(percentile(r, 0.50) for r in rounds),
        "p95_ms": statistics.median(percentile(r, 0.95) for r in rounds),
        "p99_ms": statistics.median(percentile(r, 0.99) for r in rounds),
        "max_ms": max(max(r) for r in rounds),
    }


def busy(box: Box, stop: threading.Event) -> None:
    """Make the box speak something new all the time."""
    with calling(box) as caller:
        number = 0
        while not stop.is_set():
            number += 1
            caller.ask(f"请{number}号顾客到{number % 9}号窗口取餐" * 4, "pcm")


def run() -> dict[str, Any]:
    """Measure.

    Returns:
        Rows for each side, and what the cache gains.
    """
    texts = phrases(scaled(PHRASES))
    hot = texts[: scaled(HOT)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with running_box(data) as box:
            spoken = fill(box, texts)
            box.stop()
        cold = []
        for number in range(ROUNDS):
            with running_box(data) as box, calling(box) as caller:
                cold.append(hits(caller, texts, "opus", number))
                if number < ROUNDS - 1:
                    box.stop()
                    continue
                steady = [hits(caller, texts, "opus", n) for n in range(ROUNDS)]
                hits(caller, hot, "wav", 0)
                decoded = [hits(caller, hot * 5, "wav", n) for n in range(ROUNDS)]
                stop = threading.Event()
                other = threading.Thread(target=busy, args=(box, stop))
                other.start()
                try:
                    speaking = [hits(caller, texts, "opus", n) for n in range(ROUNDS)]
                finally:
                    stop.set()
                    other.join()
                memory = box.memory_bytes
    rows = [
        row("model speaks it", [spoken]),
        row("cache after restart, opus", cold),
        row("cache, opus", steady),
        row("cache, hot wav", decoded),
        row("cache while speaking, opus", speaking),
    ]
    return {
        "rows": rows,
        "model_over_cache_p50": rows[0]["p50_ms"] / rows[2]["p50_ms"],
        "memory_mib": memory / 2**20,
    }
