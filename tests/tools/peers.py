"""Asks other readers, which live in an environment of their own (``make peers``)."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
INTERPRETER = "YAOHE_PEERS"
"""Variable that names another interpreter than the one ``make peers`` makes."""
WORKER = Path(__file__).with_name("peer_worker.py")
TIMEOUT_S = 300
NAMES = ("wetext", "zh-normalization", "cn2an", "g2p-mix", "misaki")


@dataclass(frozen=True)
class Answers:
    """What one reader made of some texts.

    Attributes:
        version: Its version.
        said: For each text ``spoken``, ``surface`` or both; None where it failed.
        spent_ms: Milliseconds of processor time, for each repeat and text.
    """

    version: str
    said: list[dict[str, Any] | None]
    spent_ms: list[list[float]]


def interpreter() -> Path | None:
    """The Python that has the peers; None where there is none."""
    told = os.environ.get(INTERPRETER)
    place = Path(told) if told else ROOT / ".venv-peers" / "bin" / "python"
    return place if place.exists() else None


def ask(name: str, texts: list[str], repeats: int = 1) -> Answers | None:
    """Let a peer read some texts.

    Args:
        name: One of :data:`NAMES`.
        texts: What to read.
        repeats: How often to read all of them.

    Returns:
        Its answers; None where it is not installed or does not start.
    """
    python = interpreter()
    if python is None:
        return None
    try:
        done = subprocess.run(
            [str(python), str(WORKER), name],
            input=json.dumps({"texts": texts, "repeats": repeats}).encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return Answers(**json.loads(done.stdout))
