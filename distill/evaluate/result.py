"""The result of a measurement: JSON that says what was measured on what."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from common.voice.runtime import describe
from distill.evaluate.hearing import JUDGES
from distill.notes import write_note

RESULT = "evaluation.json"
PAIR = "pair-{voice}.npz"
"""Teacher and student on the same frames, for figures."""


def machine() -> dict[str, Any]:
    """What the figures depend on besides the voice."""
    return {
        "cpus": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "onnxruntime": describe().version,
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def write_result(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a measurement.

    Args:
        folder: Where ``evaluation.json`` goes.
        facts: What was found.

    Returns:
        What was written.
    """
    result: dict[str, Any] = {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "judges": JUDGES,
        **facts,
    }
    write_note(folder / RESULT, result)
    return result
