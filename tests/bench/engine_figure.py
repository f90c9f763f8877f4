"""A figure of real-time factors against concurrency, as SVG, drawn by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 60
COLOURS = ("#b3261e", "#1a6fb5", "#2e7d32", "#7b5ea7")


def draw(
    path: Path,
    title: str,
    counts: Sequence[int],
    lines: Mapping[str, Sequence[float]],
) -> None:
    """Write the figure; both axes are logarithmic.

    Args:
        path: Where.
        title: What stands above it.
        counts: Requests at the same time, from left to right.
        lines: Real-time factors by name, one for each count.
    """
    values = [value for line in lines.values() for value in line]
    bottom = 10 ** math.floor(math.log10(min(values)))
    top = 10 ** math.ceil(math.log10(max(values)))
    span = math.log10(top / bottom) or 1.0

    def x(count: int) -> float:
        whole = math.log2(counts[-1] / counts[0]) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log2(count / counts[0]) / whole

    def y(value: float) -> float:
        share = math.log10(value / bottom) / span
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, title, weight="bold"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "requests at the same time"),
    ]
    for power in range(round(math.log10(bottom)), round(math.log10(top)) + 1):
        at = y(10.0**power)
        parts.append(
            f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" '
            'stroke="#ddd"/>'
        )
        parts.append(_text(LEFT - 8, at + 4, f"{10.0**power:g}", anchor="end"))
    parts += [
        _text(x(count), HEIGHT - BOTTOM + 18, str(count), anchor="middle")
        for count in counts
    ]
    for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
        dots = [(x(n), y(value)) for n, value in zip(counts, line, strict=True)]
        places = " ".join(f"{a:.1f},{b:.1f}" for a, b in dots)
        parts.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" '
            'stroke-width="2.5"/>'
        )
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>'
            for a, b in dots
        ]
        parts.append(_text(dots[-1][0] + 8, dots[-1][1] + 4, name, colour=colour))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = "#222",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )
