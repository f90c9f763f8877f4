"""What it costs to speak another dialect than a moment ago, loaded and cold.

In process, one thread, reading included: time to the first sound of a sentence, which is
new each time, on the clock and of the processor (on a busy machine the fairer number).
``stays`` speaks the dialect of the sentence before, ``switches`` another one. ``cold``
takes the dialect's pack from the disk first, ``bare`` the weights too. Budgets: 50 ms
loaded, 300 ms cold.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

from common.text import read
from common.voice.bases import Bases, among
from common.voice.pack import dialect_directories, load_pack, starter_directory
from edge.packs import LoadedPack, load, load_dialects, load_starter
from tests.bench.boxes import GOODS, scaled

ROUNDS = 60
COLD_ROUNDS = 15
LOADED_MS, COLD_MS = 50, 300

Took = tuple[float, float]
"""Milliseconds on the clock and of the processor."""


def texts() -> Iterator[str]:
    """Sentences of 20 characters without punctuation, all different."""
    numbers = "一二三四五六七八九"
    for n in count():
        yield (
            f"请第{numbers[n % 9]}十{numbers[n // 9 % 9]}号顾客到前台"
            f"领取新鲜的{GOODS[n % 10]}吧"
        )


def first_sound(bring: Callable[[], LoadedPack], dialect: str, text: str) -> Took:
    """Bring a pack, read a text and speak its first chunk."""
    began, worked = time.perf_counter(), time.process_time()
    pack = bring()
    symbols = read(text, dialect).symbols
    next(iter(pack.voice.speak(symbols, voice="woman", dialect=dialect)))
    clock_s, worked_s = time.perf_counter() - began, time.process_time() - worked
    return clock_s * 1000, worked_s * 1000


def from_disk(bases: Bases, dialect: str) -> LoadedPack:
    """A dialect's pack, checked and loaded."""
    directory = next(at for at in dialect_directories() if at.name == dialect)
    return load(directory, bases, is_trusted=True)


def row(what: str, took: list[Took], budget_ms: int) -> dict[str, Any]:
    """Medians of some rounds."""
    clock_ms, worked_ms = (
        statistics.median(values) for values in zip(*took, strict=True)
    )
    return {
        "what": what,
        "ms": clock_ms,
        "processor ms": worked_ms,
        "budget ms": budget_ms,
    }


def run() -> dict[str, Any]:
    """Measure.

    Returns:
        Rows of what and how long, medians of the rounds.
    """
    own = among([starter_directory()])
    bases = Bases(own)
    packs = {"zh": load_starter(bases)}
    packs |= {pack.voice.dialects[0]: pack for pack in load_dialects(bases)}
    said = texts()

    def speak(dialect: str) -> Took:
        return first_sound(lambda: packs[dialect], dialect, next(said))

    for dialect in packs:
        speak(dialect)
    stays: list[Took] = []
    switches: dict[str, list[Took]] = {dialect: [] for dialect in packs}
    for _ in range(scaled(ROUNDS)):
        for dialect in packs:
            switches[dialect].append(speak(dialect))
            stays.append(speak(dialect))
    cold: list[Took] = []
    bare: list[Took] = []
    for number in range(scaled(COLD_ROUNDS)):
        dialect = ("sc", "gd")[number % 2]
        gc.collect()
        warm = Bases(own)
        base = warm.speaker(load_pack(starter_directory(), trusted=True))
        cold.append(first_sound(partial(from_disk, warm, dialect), dialect, next(said)))
        assert base.networks
        empty = Bases(own)
        bare.append(
            first_sound(partial(from_disk, empty, dialect), dialect, next(said))
        )
    every = [took for values in switches.values() for took in values]
    rows = [
        row("stays", stays, LOADED_MS),
        row("switches", every, LOADED_MS),
        *(row(f"switches to {d}", took, LOADED_MS) for d, took in switches.items()),
        row("cold: pack from the disk", cold, COLD_MS),
        row("bare: weights from the disk too", bare, COLD_MS),
    ]
    ratio = rows[1]["processor ms"] / rows[0]["processor ms"]
    return {"rows": rows, "switch_over_stay": ratio, "pack": packs["zh"].name}
