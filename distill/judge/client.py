"""The judge as the rest sees it: a subprocess that is handed files.

Its environment is its own because the recogniser's decoder bundles GPL codecs; only
file names and text cross the pipe.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from common.errors import YaoheError
from distill.worker import Worker


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
        mend = "run `make judge` to mend its environment"
        self._worker = Worker("the judge", command, mend)

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
        return self._worker.ask({"want": want, "wav": str(wav.resolve()), **more})

    def close(self) -> None:
        """End the listener."""
        self._worker.close()

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
