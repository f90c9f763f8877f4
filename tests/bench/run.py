"""Runs the benchmarks and keeps what they say.

A benchmark is a file ``tests/bench/bench_NAME.py`` with a function ``run()`` that returns

- ``rows``: a list of flat dictionaries, printed as a table (all with the same keys),
- ``raw``, if there is any: what the figures come from, kept but not printed, and
- anything else worth keeping, such as ratios and how often it was repeated.

It compares both sides in the same run and repeats at least three times. ``NEEDS`` may name
modules, and files by their path, that it cannot do without; where one is missing the
benchmark is left out, and says so.
Each result goes to ``bench-out/NAME.json``, together with the machine it was taken on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "bench-out"


def names() -> list[str]:
    """The benchmarks there are, sorted."""
    return sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))


def load(name: str) -> ModuleType:
    """Import one benchmark from its file.

    Args:
        name: What follows ``bench_`` in the file's name.

    Returns:
        The module.

    Raises:
        ImportError: If the file cannot be imported.
    """
    path = HERE / f"bench_{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def cell(value: object) -> str:
    """One value as it stands in a table: floats with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as aligned columns under their keys."""
    if not rows:
        return "(no rows)"
    heads = list(rows[0])
    lines = [heads, *([cell(row.get(head, "")) for head in heads] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            text.ljust(width) for text, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def missing(module: ModuleType) -> list[str]:
    """The modules and files a benchmark needs that are not there."""
    needs: Sequence[str] = getattr(module, "NEEDS", ())
    return [need for need in needs if not _is_there(need)]


def _is_there(need: str) -> bool:
    if "/" in need:
        return (OUT.parent / need).exists()
    return importlib.util.find_spec(need) is not None


def measure(name: str) -> None:
    """Run one benchmark, print its table, write its JSON."""
    module = load(name)
    print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}")
    if gaps := missing(module):
        print(f"left out: needs {', '.join(gaps)} (make setup-distill reference)")
        return
    before = machine()
    result: dict[str, Any] = module.run()
    print(table(result.get("rows", [])))
    for key, value in result.items():
        if key not in ("rows", "raw"):
            print(f"{key}: {cell(value)}")
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    text = json.dumps({"machine": before, **result}, ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"-> {path.relative_to(OUT.parent)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or all.

    Args:
        argv: Names; the command line's when absent.

    Returns:
        The exit code: 2 for a name that is not there.
    """
    parser = argparse.ArgumentParser(description="Run benchmarks.")
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(names())}")
    chosen: list[str] = parser.parse_args(argv).names or names()
    if unknown := sorted(set(chosen) - set(names())):
        print(f"no such benchmark: {', '.join(unknown)}; there are: {names()}")
        return 2
    for name in chosen:
        measure(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
