"""``yaohe-distill report``: one paper and its figures from all measurements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import YaoheError
from common.files import make_directory, write_atomic
from distill.corpus.held import SETS
from distill.evaluate.result import PAIR, RESULT
from distill.notes import read_note
from distill.places import Places
from distill.report.bars import Bar, Result, Results, bars, percent

PAPER, NUMBERS = "report.md", "report.json"
MARKS = {True: "yes", False: "**no**", None: ""}
COLUMNS = (
    ("syllable_error", "syllable error"),
    ("dnsmos_overall", "DNSMOS"),
    ("dnsmos_p808", "P.808"),
    ("rtf_cpu", "RTF"),
    ("bytes", "MB"),
)
LOWER_IS_BETTER = frozenset(("syllable_error", "rtf_cpu", "bytes"))


def collect(places: Places) -> dict[str, list[Result]]:
    """Read the measurements of a recipe.

    Args:
        places: Its folders.

    Returns:
        Results by held set, the newest first.
    """
    found: dict[str, list[Result]] = {name: [] for name in SETS}
    for path in places.evaluations.glob(f"*/{RESULT}"):
        result = read_note(path)
        if result.get("held") in found:
            found[result["held"]].append({**result, "folder": str(path.parent)})
    for results in found.values():
        results.sort(key=lambda result: str(result["created"]), reverse=True)
    return {name: results for name, results in found.items() if results}


def write(places: Places, to: Path) -> list[Bar]:
    """Write the report of everything that was measured.

    Args:
        places: The recipe's folders.
        to: Where it goes: ``report.md``, ``report.json`` and figures.

    Returns:
        What was held against what has to be reached.

    Raises:
        YaoheError: ``not_ready`` where nothing was measured.
    """
    results = collect(places)
    if not results:
        raise YaoheError("not_ready", "nothing was measured; run the step evaluate")
    make_directory(to)
    figures = _figures(results, to)
    lines = bars(results)
    text = "\n".join(_paper(places, results, lines, figures)) + "\n"
    write_atomic(to / PAPER, text.encode())
    short = {
        name: [
            {k: v for k, v in r.items() if k not in ("rows", "folder")} for r in each
        ]
        for name, each in results.items()
    }
    numbers = json.dumps(short, ensure_ascii=False, indent=1) + "\n"
    write_atomic(to / NUMBERS, numbers.encode())
    return lines


def _figures(results: Results, to: Path) -> list[tuple[str, str]]:
    """Draw what there is to draw; titles and file names."""
    from distill.report import figures

    drawn: list[tuple[str, str]] = []
    for result in results.get("signage", ()):
        for pair in sorted(Path(result["folder"]).glob(PAIR.format(voice="*"))):
            voice = pair.stem.partition("-")[2]
            with np.load(pair) as file:
                told = dict(file)
            names = (f"spectrogram-{voice}.png", f"pitch-{voice}.svg")
            figures.spectrograms(told, to / names[0])
            figures.pitch(told, to / names[1])
            said = str(told["text"])
            drawn.append((f"{voice}, teacher above student: {said}", names[0]))
            drawn.append((f"{voice}, pitch with the teacher's durations", names[1]))
        break  # of the newest measurement only
    for dialect in ("sc", "gd"):
        for result in results.get(dialect, ())[:1]:
            figures.tones(result, to / f"tones-{dialect}.svg")
            drawn.append((f"tones of {dialect}", f"tones-{dialect}.svg"))
    return drawn


def _paper(
    places: Places,
    results: Results,
    lines: list[Bar],
    figures: list[tuple[str, str]],
) -> Iterator[str]:
    """The report, line by line."""
    yield f"# The voice of the recipe {places.recipe.name}"
    yield ""
    yield from _packs(results)
    yield ""
    yield "| measure | voice | to reach | found | reached |"
    yield "|---|---|---|---|---|"
    for bar in lines:
        mark = MARKS[bar.is_reached]
        yield f"| {bar.measure} | {bar.voice} | {bar.wanted} | {bar.found} | {mark} |"
    for name in ("signage", "wide"):
        for result in results.get(name, ())[:1]:
            yield from _systems(result, name)
    for name in ("sc", "gd"):
        for result in results.get(name, ())[:1]:
            yield from ("", f"Not judged ({name}): {result['not_judged']}")
    for title, file in figures:
        yield from ("", f"![{title}]({file})", "", f"*{title}*")


def _packs(results: Results) -> Iterator[str]:
    """Which pack was measured when, on what."""
    for name, each in results.items():
        for result in each:
            machine = result["machine"]
            yield (
                f"- {name}: {result['pack']} ({str(result['sha256'])[:12]}),"
                f" {result['count']} sentences, {result['created']},"
                f" {machine['cpus_allowed']} of {machine['cpus']} cores,"
                f" load {machine['load'][0]}"
            )
    newest = next(iter(results.values()))[0]
    yield f"- Judges: {'; '.join(newest['judges'].values())}."


def _systems(result: Result, name: str) -> Iterator[str]:
    """Everybody in one table, and where each is better than the student."""
    yield ""
    yield f"{result['count']} {name} sentences, the same machine and run:"
    yield ""
    yield "| system | voice | " + " | ".join(title for _, title in COLUMNS) + " |"
    yield "|---|---|" + "---|" * len(COLUMNS)
    for line in result["systems"]:
        cells = (_cell(key, line.get(key)) for key, _ in COLUMNS)
        yield f"| {line['system']} | {line['voice']} | " + " | ".join(cells) + " |"
    student = next(x for x in result["systems"] if x["system"] == "student")
    yield ""
    for line in result["systems"]:
        if line["system"] == "student" or line["voice"] != student["voice"]:
            continue
        better = [title for key, title in COLUMNS if _is_better(key, line, student)]
        said = ", ".join(better) or "nothing"
        yield f"- {line['system']} is better than the student in: {said}."


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return ""
    if key == "syllable_error":
        return percent(value)
    return f"{value / 1e6:.1f}" if key == "bytes" else f"{value:.4g}"


def _is_better(key: str, mine: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one system is strictly better than another in one column."""
    if key not in mine or key not in other:
        return False
    low = mine[key] < other[key]
    return bool(low if key in LOWER_IS_BETTER else mine[key] > other[key])
