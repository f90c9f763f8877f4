"""What the command line shows: tables, progress bars, the state of a recipe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from common.protocol.manifest import MANIFEST_NAME
from common.voice.pack import load_pack
from distill.corpus import ledger
from distill.evaluate.result import RESULT
from distill.notes import read_note
from distill.places import Places
from distill.recipe import STAGES

RATE_WINDOW_S = 600.0
"""Time left is estimated from the speed of the last ten minutes."""


@contextmanager
def bar(console: Console, title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar with the time left.

    Args:
        console: Where to.
        title: What is going on.

    Yields:
        A function to call with done, total and a remark.
    """
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[remark]}"),
        console=console,
        speed_estimate_period=RATE_WINDOW_S,
    ) as progress:
        task = progress.add_task(title, total=None, remark="")

        def move(done: int, total: int, remark: str) -> None:
            progress.update(task, completed=done, total=total, remark=remark)

        yield move


def table(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Flat dictionaries with the same keys as a table."""
    drawn = Table(title=title, title_justify="left")
    names = list(rows[0]) if rows else []
    for name in names:
        is_number = rows and isinstance(rows[0][name], (int, float))
        drawn.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        drawn.add_row(*(_cell(name, row[name]) for name in names))
    return drawn


def comparison(lines: Sequence[Mapping[str, Any]], title: str) -> Table:
    """A measurement as a table: a column for each system and voice, side by side."""
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("")
    for line in lines:
        drawn.add_column(f"{line['system']} {line['voice']}", justify="right")
    names = dict.fromkeys(name for line in lines for name in line)
    for name in list(names)[2:]:
        drawn.add_row(name, *(_cell(name, line.get(name, "")) for line in lines))
    return drawn


def dialect(result: Mapping[str, Any], title: str) -> Table:
    """A dialect's measurement as a table: a column for each voice."""
    names = ("syllables", "correlation", "nearest_target", "nearest_mean")
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("")
    for voice in result["tones"]:
        drawn.add_column(voice, justify="right")
    for name in names:
        drawn.add_row(name, *(str(v[name]) for v in result["tones"].values()))
    for name in next(iter(result["segments"].values())):
        drawn.add_row(name, *(str(v[name]) for v in result["segments"].values()))
    return drawn


def _cell(name: str, value: Any) -> str:
    if name in ("syllable_error", "word_error") and value != "":
        return f"{100 * value:.1f} %"
    if name == "bytes":
        return f"{value / 1e6:.1f} MB"
    return str(value)


def _last_line(path: Path) -> dict[str, Any]:
    """The newest row of a log."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        try:
            values = json.loads(line)
        except ValueError:
            continue
        return values if isinstance(values, dict) else {}
    return {}


def status(places: Places) -> list[dict[str, str]]:
    """How far a recipe is, step by step; reads files only.

    Args:
        places: The recipe's folders.

    Returns:
        Rows of a table.
    """
    recipe = places.recipe
    rows = list(ledger.rows(places.corpus)) if places.corpus.exists() else []
    hours = sum(row["seconds"] for row in rows) / 3600
    finished = (places.corpus / ledger.MANIFEST).exists()
    said = f"{len(rows)} sentences, {hours:.2f} h" + (", finished" if finished else "")
    lines = [("corpus", said if rows else "-", places.corpus)]
    for stage in (stage for stage in STAGES if stage in recipe.stages):
        log = _last_line(places.log(stage))
        there = places.checkpoint(stage).exists()
        done = f"step {log['step']} of {recipe.stages[stage].steps}" if log else ""
        losses = ", ".join(f"{k} {v:.4g}" for k, v in log.items() if k != "step")
        text = f"{done}: {losses}" if done else "checkpoint" if there else "-"
        lines.append((stage, text, places.checkpoint(stage)))
    note = read_note(places.export)
    text = f"stage {note['stage']}, step {note['step']}" if note else "-"
    lines.append(("export", text, places.draft))
    lines += _measured(places)
    for name in recipe.packs:
        folder = places.pack(name)
        is_there = (folder / MANIFEST_NAME).exists()
        label = load_pack(folder, trusted=True).label if is_there else "-"
        lines.append((f"pack {name}", label, folder))
    return [{"step": a, "state": b, "where": str(c)} for a, b, c in lines]


def _measured(places: Places) -> list[tuple[str, str, Path]]:
    """A line for each measurement."""
    lines = []
    for path in sorted(places.evaluations.glob(f"*/{RESULT}")):
        said = "; ".join(
            f"{line['system']} {line['voice']} {100 * line['syllable_error']:.1f} %"
            for line in read_note(path).get("systems", [])
        )
        lines.append((f"evaluate {path.parent.name}", said, path))
    return lines or [("evaluate", "-", places.evaluations)]
