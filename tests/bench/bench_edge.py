"""What the box's own voice costs: first sound, speed, memory, start.

In process, one thread: reading and voice apart and together, as a real-time factor.
Over HTTP: time to the first byte of sound of a sentence of 20 characters without any
punctuation, reading included, in streamed pcm. Budgets: RTF 0.015, first sound 30 ms,
memory 350 MiB.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from common.audio.pcm import SAMPLE_RATE
from common.text import read
from edge.packs import LoadedPack, load_starter
from tests.bench.boxes import GOODS, calling, percentile, phrases, scaled
from tests.e2e.boxes import running_box

SENTENCES = 100
ROUNDS = 3
AFTER = 200
"""Calls before memory is read."""


def unbroken(count: int) -> list[str]:
    """Sentences of 20 characters without punctuation, all different."""
    numbers = "一二三四五六七八九"
    return [
        f"请第{numbers[n % 9]}十{numbers[n // 9 % 9]}号顾客到前台领取新鲜的{GOODS[n % 10]}吧"
        for n in range(count)
    ]


def spoken(pack: LoadedPack, texts: list[str]) -> tuple[float, float, float]:
    """Speak all texts on this thread.

    Returns:
        Seconds of reading, of speaking, and of sound.
    """
    reading = speaking = sound = 0.0
    for text in texts:
        began = time.perf_counter()
        symbols = read(text).symbols
        was_read = time.perf_counter()
        chunks = pack.voice.speak(symbols, voice=pack.voice.voices[0])
        sound += sum(chunk.size for chunk in chunks) / SAMPLE_RATE
        reading += was_read - began
        speaking += time.perf_counter() - was_read
    return reading, speaking, sound


def run() -> dict[str, Any]:
    """Measure.

    Returns:
        Rows of what and how much, each the median of the rounds.
    """
    texts = phrases(scaled(SENTENCES))
    pack = load_starter()
    spoken(pack, texts[:3])
    rounds = [spoken(pack, texts) for _ in range(ROUNDS)]
    reading_rtf = statistics.median(r / s for r, _, s in rounds)
    voice_rtf = statistics.median(v / s for _, v, s in rounds)
    first: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with running_box(Path(folder)) as box, calling(box) as caller:
            started_s = time.perf_counter() - began
            for text in unbroken(scaled(SENTENCES)):
                tier, first_ms, _, _ = caller.ask(text, "pcm")
                if tier == "edge":
                    first.append(first_ms)
            for text in phrases(scaled(AFTER)):
                caller.ask(text, "opus")
            memory = box.memory_bytes
    rows = [
        {"what": "reading, RTF", "value": reading_rtf, "budget": ""},
        {"what": "voice, RTF", "value": voice_rtf, "budget": ""},
        {"what": "both, RTF", "value": reading_rtf + voice_rtf, "budget": 0.015},
        {"what": "first sound p50, ms", "value": percentile(first, 0.5), "budget": 30},
        {"what": "first sound p95, ms", "value": percentile(first, 0.95), "budget": ""},
        {"what": "memory, MiB", "value": memory / 2**20, "budget": 350},
        {"what": "start until ready, s", "value": started_s, "budget": ""},
    ]
    return {"rows": rows, "pack": pack.name, "first_sounds": len(first)}
