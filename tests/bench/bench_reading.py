"""Reading: accuracy on the cases, sentences a second, load; peers in the same run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

from common.text import read
from common.version import VERSION
from tests.tools.peers import NAMES, Answers, ask
from tests.tools.reading import CASES, DIALECT_OF, KINDS, fits, heard, is_right, rows

REPEATS = 3
NEEDS = ()
SETS = (
    "frontend/tn",
    "own/tn-before",
    "own/tn-after",
    "frontend/pinyin",
    "own/pinyin-before",
    "own/pinyin-after",
)
"""Case files on which readers are compared, read in this order."""
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


def _ours(texts: list[str]) -> Answers:
    said: list[dict[str, Any] | None] = []
    spent: list[list[float]] = []
    for repeat in range(REPEATS):
        spent.append([])
        for text in texts:
            start = time.process_time_ns()
            reading = read(text)
            spent[repeat].append((time.process_time_ns() - start) / 1e6)
            if not repeat:
                said.append({"spoken": reading.spoken, "surface": reading.surface})
    return Answers(VERSION, said, spent)


def _is_accepted(said: dict[str, Any] | None, row: dict[str, Any]) -> bool | None:
    """Whether a row accepts what was said; None where the reader says no such thing."""
    kind = "spoken" if "spoken" in row else "surface"
    if said is None:
        return False
    if kind not in said:
        return None
    if kind == "spoken":
        return heard(said["spoken"]) in {heard(form) for form in row["spoken"]}
    # Syllables of Chinese only: readers spell English each in their own alphabet.
    chinese = [accepted for accepted in row["surface"] if accepted[0][0].islower()]
    return fits(tuple(s for s in said["surface"] if s[0].islower()), chinese)


def _row(name: str, answers: Answers) -> dict[str, Any]:
    """Share of each set that a reader has right, and how fast it is."""
    row: dict[str, Any] = {"reader": f"{name} {answers.version}"}
    place = 0
    for case in SETS:
        found = list(rows(case))
        said = answers.said[place : place + len(found)]
        place += len(found)
        right = [_is_accepted(*pair) for pair in zip(said, found, strict=True)]
        column = case.replace("frontend/", "").replace("/", " ") + " %"
        row[column] = "-" if None in right else 100 * sum(map(bool, right)) / len(right)
    times = [sorted(repeat) for repeat in answers.spent_ms]
    row["sentences/s"] = statistics.median(1000 * len(t) / sum(t) for t in times)
    row["p99 ms"] = statistics.median(t[int(len(t) * 0.99)] for t in times)
    return row


def _load(*dialects: str) -> dict[str, float]:
    command = [sys.executable, "-c", _LOAD, *dialects]
    done = subprocess.run(
        command, check=True, capture_output=True, cwd=CASES.parents[1]
    )
    loaded: dict[str, float] = json.loads(done.stdout)
    return loaded


def run() -> dict[str, Any]:
    """Measure ourselves and every peer that is installed."""
    texts = [row["text"] for name in SETS for row in rows(name)]
    table = [_row("yaohe", _ours(texts))]
    missing = []
    for name in NAMES:
        answers = ask(name, texts, REPEATS)
        if answers is None:
            missing.append(name)
        else:
            table.append(_row(name, answers))
    if missing:
        print(f"left out: {', '.join(missing)} (make peers)")
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
        "left_out": missing,
    }
