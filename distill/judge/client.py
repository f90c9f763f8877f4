"""The judge as the rest sees it: a subprocess that is handed files.

Its environment is its own because the recogniser's decoder bundles GPL codecs; only
file names and text cross the pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from common.errors import YaoheError

ROOT = Path(__file__).resolve().parents[2]
"""The listener is started here, so that it is this checkout's."""
STOP_S = 10.0
"""How long the listener may take to end."""


@dataclass(frozen=True)
class Heard:
    """What the judge says of one file.

    Attributes:
        text: What was understood.
        quality: DNSMOS scores where they were asked for.
    """

    text: str
    quality: dict[str, float] = field(default_factory=dict)


class Judge:
    """A listener in a process of its own; use it in a ``with`` statement."""

    def __init__(self, python: Path, cache: Path, *, quality: bool = False) -> None:
        """Start listening.

        Args:
            python: Python of the judge's environment.
            cache: Where the joined model is kept.
            quality: Whether to estimate DNSMOS too.

        Raises:
            YaoheError: ``not_ready`` with what to do.
        """
        if not python.exists():
            raise YaoheError(
                "not_ready",
                f"no recogniser: {python} is missing; run `make judge`, or name its"
                " Python in YAOHE_DISTILL_JUDGE",
            )
        command = [str(python), "-m", "distill.judge", "--cache", str(cache)]
        if quality:
            command.append("--quality")
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        try:
            self._answer()
        except YaoheError:
            self.close()
            raise

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise YaoheError("internal_error", "the judge has no pipes")
        return pipe

    def _answer(self) -> dict[str, Any]:
        """Read one line of the listener."""
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise YaoheError(
                "not_ready", "the judge ended; run `make judge` to mend its environment"
            )
        values: dict[str, Any] = json.loads(line)
        if "error" in values:
            raise YaoheError("not_ready", f"the judge: {values['error']}")
        return values

    def hear(self, wav: Path) -> Heard:
        """Let the judge listen to a file.

        Args:
            wav: A sound file.

        Returns:
            What it heard.

        Raises:
            YaoheError: ``not_ready`` where it cannot.
        """
        pipe = self._pipe(self._process.stdin)
        try:
            pipe.write(json.dumps({"wav": str(wav.resolve())}) + "\n")
            pipe.flush()
        except BrokenPipeError:
            raise YaoheError("not_ready", "the judge ended") from None
        values = self._answer()
        return Heard(values["text"], values.get("quality", {}))

    def close(self) -> None:
        """End the listener."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # A listener that has ended leaves a pipe that cannot be flushed.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Judge:
        """Start of the ``with`` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End of the ``with`` statement."""
        self.close()
