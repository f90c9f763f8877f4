"""Figures of the report: spectrograms, pitch, tones. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from common.voice import source
from common.voice.walk import FRAME_MS

# One reading of the same numbers is one file, whenever it is drawn.
mpl.rcParams["svg.hashsalt"] = "yaohe"

TEACHER, STUDENT = "#555555", "#c8321e"
FLOOR_DB, TOP_DB = -60.0, 30.0
TONE_NAMES = {"sc": "Chengdu", "gd": "Hong Kong"}


def spectrograms(pair: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Draw teacher over student.

    Args:
        pair: ``teacher`` and ``student``, samples on the same frames.
        path: A PNG.
    """
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    for axis, name in zip(axes, ("teacher", "student"), strict=True):
        sound = pair[name]
        padded = np.pad(sound, source.EDGE)
        spectra = source.spectrum(padded, 0, len(sound) // source.HOP)
        db = 20 * np.log10(np.abs(spectra).T + 1e-4)
        axis.imshow(
            db,
            origin="lower",
            aspect="auto",
            cmap="magma",
            vmin=FLOOR_DB,
            vmax=TOP_DB,
            extent=(0, len(sound) / source.SAMPLE_RATE, 0, 12),
        )
        axis.set_title(name, loc="left")
        axis.set_ylabel("kHz")
    axes[-1].set_xlabel("s")
    figure.savefig(path, dpi=110)


def pitch(pair: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Draw both pitch curves over each other.

    Args:
        pair: ``teacher_hz`` and ``student_hz`` on the same frames, 0 where unvoiced.
        path: An SVG.
    """
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    axis = figure.subplots()
    for name, colour in (("teacher", TEACHER), ("student", STUDENT)):
        hz = pair[f"{name}_hz"].astype(float)
        seconds = np.arange(len(hz)) * FRAME_MS / 1000
        axis.plot(seconds, np.where(hz > 0, hz, np.nan), color=colour, label=name)
    axis.set_yscale("log", base=2)
    axis.set_yticks([100, 150, 200, 300, 400], ["100", "150", "200", "300", "400"])
    axis.set_ylabel("Hz")
    axis.set_xlabel("s, with the teacher's durations")
    axis.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def tones(result: Mapping[str, Any], path: Path) -> None:
    """Draw each tone of a dialect as it is meant and as it is spoken.

    Args:
        result: A dialect's measurement.
        path: An SVG.
    """
    voices = result["tones"]
    names = list(next(iter(voices.values()))["tones"])
    figure = Figure(
        figsize=(2 * len(names) + 1, 2.6 * len(voices)), layout="constrained"
    )
    grid = figure.subplots(len(voices), len(names), sharey=True, squeeze=False)
    places = np.arange(3)
    for row, (voice, found) in zip(grid, voices.items(), strict=True):
        for axis, tone in zip(row, names, strict=True):
            line = found["tones"].get(tone)
            axis.set_title(f"{voice}, tone {tone}", loc="left", fontsize=9)
            axis.set_xticks(places, ["start", "middle", "end"], fontsize=7)
            axis.set_ylim(-1, 7)
            if line is None:
                continue
            spoken, spread = np.array(line["spoken"]), np.array(line["spread"])
            axis.plot(places, line["target"], color=TEACHER, ls="--", label="target")
            axis.plot(places, spoken, color=STUDENT, marker="o", label="spoken")
            band = (spoken - spread, spoken + spread)
            axis.fill_between(places, *band, color=STUDENT, alpha=0.15, lw=0)
        row[0].set_ylabel("level")
    grid[0][0].legend(frameon=False, fontsize=7)
    name = TONE_NAMES[str(result["dialect"])]
    figure.suptitle(
        f"{name}: target and spoken (mean, standard deviation)", fontsize=10
    )
    figure.savefig(path, metadata={"Date": None})
