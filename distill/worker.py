"""A program in an environment of its own that answers JSON lines with JSON lines.

What bundles other licences, or cannot live beside torch, is started so; only file names
and text cross the pipe. Its first line says that it is ready, or ``{"error": reason}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from common.errors import YaoheError

ROOT = Path(__file__).resolve().parents[1]
"""Workers are started here, so that they are this checkout's."""
STOP_S = 10.0
"""How long one may take to end."""


class Worker:
    """The program; whoever starts it closes it.

    Attributes:
        ready: What it said when it was ready.
    """

    def __init__(
        self, name: str, command: Sequence[str], mend: str, *, is_silent: bool = False
    ) -> None:
        """Start it and wait until it is ready.

        Args:
            name: What errors call it.
            command: Program and arguments.
            mend: What to do where it cannot work.
            is_silent: Whether its standard error is thrown away.

        Raises:
            YaoheError: ``not_ready`` where it does not start.
        """
        self._name = name
        self._mend = mend
        self._process = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_silent else None,
            text=True,
            encoding="utf-8",
        )
        try:
            self.ready = self._answer()
        except YaoheError:
            self.close()
            raise

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Ask and wait for the answer.

        Args:
            question: Plain JSON.

        Returns:
            The answer.

        Raises:
            YaoheError: ``not_ready`` where it ended or says so.
        """
        pipe = self._pipe(self._process.stdin)
        try:
            pipe.write(json.dumps(question) + "\n")
            pipe.flush()
        except BrokenPipeError:
            raise YaoheError("not_ready", f"{self._name} ended") from None
        return self._answer()

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise YaoheError("internal_error", f"{self._name} has no pipes")
        return pipe

    def _answer(self) -> dict[str, Any]:
        """Read one line."""
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise YaoheError("not_ready", f"{self._name} ended; {self._mend}")
        values: dict[str, Any] = json.loads(line)
        if "error" in values:
            raise YaoheError("not_ready", f"{self._name}: {values['error']}")
        return values

    def close(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # A program that has ended leaves a pipe that cannot be flushed.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
