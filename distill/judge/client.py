"""The judge as the rest sees it: a subprocess that is handed files.

Its environment is its own because the recogniser's decoder bundles GPL codecs; only
file names and text cross the pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from common.errors import YaoheError

ROOT = Path(__file__).resolve().parents[2]
"""The listener is started here, so that it is this checkout's."""
STOP_S = 10.0
"""How long the listener may take to end."""


class Judge:
    """A listener in a process of its own; use it in a ``with`` statement."""

    def __init__(self, python: Path, cache: Path) -> None:
        """Start listening.

        Args:
            python: Python of the judge's environment.
            cache: Where the joined model is kept.

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

    def hear(self, wav: Path, language: str = "zh") -> str:
        """Let the judge write down what a file says.

        Args:
            wav: A sound file.
            language: ``zh``, ``yue``, ``en``.

        Returns:
            What was understood.

        Raises:
            YaoheError: ``not_ready`` where it cannot.
        """
        text: str = self._ask(wav, "text", language=language)["text"]
        return text

    def quality(self, wav: Path) -> dict[str, float]:
        """Let the judge estimate how good a file sounds.

        Args:
            wav: A sound file.

        Returns:
            DNSMOS: overall, signal, background, P.808.

        Raises:
            YaoheError: ``not_ready`` where it cannot.
        """
        scores: dict[str, float] = self._ask(wav, "quality")["quality"]
        return scores

    def pitch(self, wav: Path) -> list[float]:
        """Let the judge follow the pitch of a file.

        Args:
            wav: A sound file.

        Returns:
            Hertz, 100 values a second, 0 where unvoiced.

        Raises:
            YaoheError: ``not_ready`` where it cannot.
        """
        hz: list[float] = self._ask(wav, "pitch")["hz"]
        return hz

    def _ask(self, wav: Path, want: str, **more: str) -> dict[str, Any]:
        """Ask one question about one file."""
        question = {"want": want, "wav": str(wav.resolve()), **more}
        pipe = self._pipe(self._process.stdin)
        try:
            pipe.write(json.dumps(question) + "\n")
            pipe.flush()
        except BrokenPipeError:
            raise YaoheError("not_ready", "the judge ended") from None
        return self._answer()

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
