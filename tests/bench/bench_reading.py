"""Reading: accuracy on the cases, sentences a second, load; peers in the same run."""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from common.text import read
from tests.tools.reading import CASES, DIALECT_OF, KINDS, heard, is_right, rows

REPEATS = 3
NEEDS = ()
_LOAD = """
import json, sys, time
def memory():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6
start = time.process_time()
from common.text import read
for dialect in sys.argv[1:]:
    read("你好，欢迎光临KFC，今日特价9.9元。", dialect)
print(json.dumps({"load_s": time.process_time() - start, "memory_mb": memory()}))
"""


def _ours(text: str) -> str:
    return read(text).spoken


def _wetext() -> Callable[[str], str]:
    wetext = importlib.import_module("wetext")
    peer = wetext.Normalizer(lang="zh", traditional_to_simple=True, full_to_half=True)
    return lambda text: str(peer.normalize(text))


def _zh_normalization() -> Callable[[str], str]:
    peer = importlib.import_module("zh_normalization").TextNormalizer()
    return lambda text: "".join(peer.normalize(text))


def _cn2an() -> Callable[[str], str]:
    peer = importlib.import_module("cn2an")
    return lambda text: str(peer.transform(text, "an2cn"))


PEERS = {"wetext": _wetext, "zh-normalization": _zh_normalization, "cn2an": _cn2an}


def _speed(say: Callable[[str], object], texts: list[str]) -> tuple[float, float]:
    """Sentences a second and the 99th percentile in ms, of processor time."""
    spent: list[float] = []
    for text in texts:
        start = time.process_time_ns()
        say(text)
        spent.append((time.process_time_ns() - start) / 1e6)
    spent.sort()
    return 1000 * len(spent) / sum(spent), spent[int(len(spent) * 0.99)]


def _right(say: Callable[[str], str], name: str) -> float:
    """Share of spoken forms accepted, percent; a failure counts as wrong."""
    found = list(rows(name))
    right = 0
    for row in found:
        try:
            right += heard(say(row["text"])) in {heard(form) for form in row["spoken"]}
        except (ValueError, KeyError, IndexError, TypeError):
            continue
    return 100 * right / len(found)


def _row(name: str, say: Callable[[str], str], texts: list[str]) -> dict[str, Any]:
    runs = [_speed(say, texts) for _ in range(REPEATS)]
    return {
        "reader": name,
        "tn_open_%": _right(say, "frontend/tn"),
        "tn_own_before_%": _right(say, "own/tn-before"),
        "tn_own_after_%": _right(say, "own/tn-after"),
        "sentences_per_s": statistics.median(rate for rate, _ in runs),
        "p99_ms": statistics.median(slow for _, slow in runs),
    }


def _load(*dialects: str) -> dict[str, float]:
    command = [sys.executable, "-c", _LOAD, *dialects]
    done = subprocess.run(
        command, check=True, capture_output=True, cwd=CASES.parents[1]
    )
    loaded: dict[str, float] = json.loads(done.stdout)
    return loaded


def run() -> dict[str, Any]:
    """Measure ourselves and every peer that is installed."""
    texts = [
        row["text"] for name in ("tn", "pinyin") for row in rows(f"frontend/{name}")
    ]
    table = [_row("yaohe", _ours, texts)]
    for name, make in PEERS.items():
        try:
            say = make()
        except ImportError:
            continue
        table.append(_row(name, say, texts))
    right = {
        name: [
            sum(
                is_right(read(r["text"], DIALECT_OF[kind]), r, kind) for r in rows(name)
            ),
            sum(1 for _ in rows(name)),
        ]
        for kind in KINDS
        for name in (f"frontend/{kind}", f"own/{kind}-before", f"own/{kind}-after")
    }
    return {
        "rows": table,
        "repeats": REPEATS,
        "right": right,
        "load": {"zh": _load("zh"), "zh+gd+sc": _load("zh", "gd", "sc")},
        "peers_missing": [n for n in PEERS if n not in {r["reader"] for r in table}],
    }
