"""The listener: JSON lines in, JSON lines out, in the judge's environment.

``{"wav": path}`` is answered with ``{"text": ...}`` and, with ``--quality``, DNSMOS.
The first line out is ``{"ready": true}`` or ``{"error": reason}``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from distill.judge import whisper


def _say(values: dict[str, Any]) -> None:
    """Write one line out."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Listen until the input ends.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="distill.judge")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--quality", action="store_true")
    chosen = parser.parse_args()
    try:
        ear = whisper.Ear(chosen.cache)
    except (ImportError, OSError, ValueError) as error:
        _say({"error": str(error)})
        return 1
    _say({"ready": True})
    for line in sys.stdin:
        path = json.loads(line)["wav"]
        try:
            text, sound = ear.hear(path)
            answer: dict[str, Any] = {"text": text}
            if chosen.quality:
                answer["quality"] = whisper.quality(sound)
        except Exception as error:  # noqa: BLE001 - one bad file must not end the rest
            answer = {"error": f"{path}: {error}"}
        _say(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
