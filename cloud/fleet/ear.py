"""A recogniser in a process of its own, since its decoder bundles GPL codecs.

It is handed files and answers with lines of JSON; the next call starts another in the
place of one that ended.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.audio.pcm import Pcm
from common.audio.wav import write_wav
from common.errors import YaoheError

START_S = 180.0
"""Until its model is loaded, seconds."""
HEAR_S = 120.0
"""For one recording, seconds."""
MAX_LINE_BYTES = 64 * 1024


class Ear:
    """Writes down what recordings say."""

    def __init__(self, command: Sequence[str]) -> None:
        """Remember how it is started; nothing runs yet.

        Args:
            command: Program and arguments.
        """
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @classmethod
    def of(cls, python: Path, cache: Path) -> Ear:
        """The recogniser of ``make judge``.

        Args:
            python: Python of its environment.
            cache: Where it keeps its model.
        """
        command = (str(python), "-m", "distill.judge", "--cache", str(cache))
        return cls(command)

    async def hear(self, pcm: Pcm) -> str:
        """Write down a recording.

        Args:
            pcm: The sound, shape (samples,).

        Returns:
            What was understood.

        Raises:
            YaoheError: ``not_ready``: the recogniser cannot be started, ended, or does
                not answer.
        """
        async with self._turn:
            with tempfile.TemporaryDirectory(prefix="yaohe-ear-") as folder:
                wav = Path(folder) / "phrase.wav"
                await asyncio.to_thread(wav.write_bytes, write_wav(pcm, ()))
                asked = {"want": "text", "wav": str(wav), "language": "zh"}
                try:
                    answer = await self._answer(asked)
                except BaseException:
                    await self._end()
                    raise
        text = answer.get("text")
        if not isinstance(text, str):
            raise YaoheError("not_ready", f"the recogniser: {answer.get('error')}")
        return text

    async def stop(self) -> None:
        """End it."""
        async with self._turn:
            await self._end()

    async def _answer(self, asked: dict[str, str]) -> dict[str, Any]:
        process = self._process
        if process is None:
            try:
                process = self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=MAX_LINE_BYTES,
                )
            except OSError as error:
                raise YaoheError(
                    "not_ready", f"no recogniser: {error.strerror}; see `make judge`"
                ) from None
            ready = await _line(process, START_S)
            if "error" in ready:
                raise YaoheError("not_ready", f"the recogniser: {ready['error']}")
        if process.stdin is None:
            raise YaoheError("internal_error", "the recogniser has no pipes")
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        return await _line(process, HEAR_S)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


async def _line(
    process: asyncio.subprocess.Process, timeout_s: float
) -> dict[str, Any]:
    """One line of the recogniser."""
    if process.stdout is None:
        raise YaoheError("internal_error", "the recogniser has no pipes")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), timeout_s)
        values = json.loads(line)
    except asyncio.TimeoutError:
        raise YaoheError("not_ready", "the recogniser does not answer") from None
    except ValueError:
        raise YaoheError("not_ready", "the recogniser ended") from None
    return values if isinstance(values, dict) else {}
