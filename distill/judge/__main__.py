"""The listener: JSON lines in, JSON lines out, in the judge's environment.

``{"want": "text", "wav": path, "language": code}`` is answered with ``{"text": ...}``,
``quality`` with DNSMOS, ``pitch`` with ``{"hz": [...]}``. The first line out is
``{"ready": true}`` or ``{"error": reason}``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from distill.judge import pitch, quality, whisper


def _say(values: dict[str, Any]) -> None:
    """Write one line out."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def _answer(ear: whisper.Ear, question: dict[str, Any]) -> dict[str, Any]:
    """Answer one question about one file."""
    path = question["wav"]
    match question["want"]:
        case "text":
            return {"text": ear.hear(path, question["language"])}
        case "quality":
            return {"quality": quality.quality(path)}
        case "pitch":
            return {"hz": pitch.pitch(path)}
        case other:
            return {"error": f"nobody here knows about {other}"}


def main() -> int:
    """Listen until the input ends.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="distill.judge")
    parser.add_argument("--cache", type=Path, required=True)
    chosen = parser.parse_args()
    try:
        ear = whisper.Ear(chosen.cache)
    except (ImportError, OSError, ValueError) as error:
        _say({"error": str(error)})
        return 1
    _say({"ready": True})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = _answer(ear, question)
        except Exception as error:  # noqa: BLE001 - one bad file must not end the rest
            answer = {"error": f"{question.get('wav')}: {error}"}
        _say(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
