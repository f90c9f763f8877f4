"""Starts the package's process and asks it; one request at a time, in order."""

from __future__ import annotations

import itertools
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from cloud.engine.reference.wire import Arrays, Message, receive, send
from common.errors import Code, YaoheError

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]

PROGRAM = Path(__file__).with_name("package.py")
GOODBYE_S = 10.0
"""Seconds that the process gets to end by itself."""


@dataclass(frozen=True)
class Spoken:
    """Sound as the package delivers it, and when it did what.

    Attributes:
        sounds: Samples of each text, 24 kHz; the package leaves out what is silent.
        steps: When each step began, seconds after the request; the first is the prompt.
        spent: Seconds in all, sound included.
    """

    sounds: tuple[Floats, ...]
    steps: tuple[float, ...]
    spent: float


@dataclass(frozen=True)
class Trace:
    """What the package computed for one text.

    Attributes:
        hidden: Hidden states [steps, hidden]; none for refined text.
        logits: Scores [steps, codebooks, codes], before any sampling rule.
        codes: What was drawn [steps, codebooks].
    """

    hidden: Floats
    logits: Floats
    codes: Whole


class PackageProcess:
    """The ChatTTS package with one asset folder, in a process of its own."""

    def __init__(self, python: Path, directory: Path, *, threads: int) -> None:
        """Start the process and wait until the weights are loaded.

        Args:
            python: The interpreter of an environment that has the package.
            directory: An asset folder.
            threads: Threads that it computes with.

        Raises:
            YaoheError: ``pack_invalid`` where it does not start.
        """
        try:
            self._process = subprocess.Popen(
                [str(python), str(PROGRAM), str(directory), str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            )
        except OSError as error:
            raise YaoheError(
                "pack_invalid",
                f"{python} cannot be started: {error.strerror} (make reference)",
            ) from None
        self._requests = cast(BinaryIO, self._process.stdin)
        self._answers = cast(BinaryIO, self._process.stdout)
        self._asking = threading.Lock()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        try:
            self._answer("pack_invalid")
        except YaoheError:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def _answer(self, code: Code) -> Message:
        """The next answer; one that says what failed is an error with that code."""
        message = receive(self._answers)
        if message is None:
            raise YaoheError(code, "the ChatTTS package has ended")
        if error := message[0].get("error"):
            raise YaoheError(code, f"the ChatTTS package failed: {error}")
        return message

    def _send(self, said: Mapping[str, Any], arrays: Arrays) -> None:
        try:
            with self._sending:
                send(self._requests, said, arrays)
        except (OSError, ValueError):
            message = "the ChatTTS package has ended"
            raise YaoheError("voice_unavailable", message) from None

    def number(self) -> int:
        """A number for a request that may be given up."""
        return next(self._numbers)

    def ask(
        self,
        do: str,
        arrays: Arrays | None = None,
        *,
        number: int | None = None,
        **said: Any,
    ) -> Message:
        """Ask for something and wait.

        Args:
            do: A request of ``package.py``.
            arrays: Arrays that go with it.
            number: Of :meth:`number`, where it may be given up.
            said: Its parameters.

        Returns:
            The answer.

        Raises:
            YaoheError: ``voice_unavailable``: it failed or is gone.
        """
        if number is None:
            number = self.number()
        with self._asking:
            self._send({"do": do, "number": number, **said}, arrays or {})
            return self._answer("voice_unavailable")

    def speaker(self, seed: int) -> str:
        """Draw a voice.

        Args:
            seed: The same gives the same.

        Returns:
            Its text form.
        """
        said, _ = self.ask("speaker", seed=seed)
        speaker: str = said["speaker"]
        return speaker

    def speak(
        self, texts: Sequence[str], *, number: int | None = None, **parameters: Any
    ) -> Spoken:
        """Speak texts as one batch.

        Args:
            texts: Words, no digits; control tokens are obeyed.
            number: Of :meth:`number`, where it may be given up.
            parameters: The package's ``InferCodeParams``.

        Returns:
            The sound.
        """
        said, arrays = self.ask(
            "speak", number=number, texts=list(texts), parameters=parameters
        )
        return Spoken(tuple(arrays.values()), tuple(said["steps"]), said["spent"])

    def give_up(self, number: int) -> None:
        """End a request after its running step; what it has goes to its asker.

        Args:
            number: The request's; one that is over is no error.
        """
        self._send({"do": "stop", "number": number}, {})

    def prompt(
        self, text: str, *, refine: bool = False, **parameters: Any
    ) -> tuple[Whole, Floats]:
        """Tokens of a prompt and their embedding.

        Args:
            text: Words.
            refine: Whether the text is to be refined in place of spoken.
            parameters: The package's ``InferCodeParams`` or ``RefineTextParams``.

        Returns:
            [tokens] and [tokens, hidden].
        """
        _, arrays = self.ask(
            "prompt", texts=[text], refine=refine, parameters=parameters
        )
        return arrays["ids"], arrays["embedded"]

    def trace(
        self,
        text: str,
        codes: Whole | None,
        steps: int,
        *,
        refine: bool = False,
        **parameters: Any,
    ) -> Trace:
        """Show what is computed for a text.

        Args:
            text: Words.
            codes: What the steps are forced to draw [steps, codebooks]; None draws the
                most probable.
            steps: How many.
            refine: Whether the text is refined in place of spoken.
            parameters: The package's ``InferCodeParams`` or ``RefineTextParams``.
        """
        _, arrays = self.ask(
            "trace",
            {} if codes is None else {"codes": codes},
            texts=[text],
            refine=refine,
            parameters={
                **{"min_new_token": steps, "max_new_token": steps, "temperature": 1.0},
                **parameters,
            },
        )
        hidden = arrays.get("hidden", np.zeros((steps, 0), np.float32))
        return Trace(hidden, arrays["logits"], arrays["codes"])

    def decode(
        self, *, hidden: Floats | None = None, codes: Whole | None = None
    ) -> Floats:
        """Sound of hidden states or of codes, silence included.

        Args:
            hidden: [steps, hidden].
            codes: [steps, codebooks], where there are no hidden states.

        Returns:
            Samples.
        """
        given = {"hidden": hidden} if hidden is not None else {"codes": codes}
        _, arrays = self.ask("decode", given)  # type: ignore[arg-type]
        return arrays["wave"]

    def probabilities(
        self,
        logits: Floats,
        history: Whole,
        *,
        temperature: float,
        top_p: float,
        top_k: int,
        penalty: float,
    ) -> Floats:
        """What the sampler would draw from, end of speech not yet forbidden.

        Args:
            logits: Scores [rows, codes].
            history: Codes so far [rows, steps].
            temperature: Divides the logits.
            top_p: Least probability that is kept.
            top_k: Most codes that are kept.
            penalty: Repetition penalty.

        Returns:
            Probabilities [rows, codes].
        """
        parameters = {
            "num_code": logits.shape[1] - 1,
            "top_P": top_p,
            "top_K": top_k,
            "repetition_penalty": penalty,
        }
        _, arrays = self.ask(
            "sampler",
            {"logits": logits, "history": history},
            temperature=temperature,
            parameters=parameters,
        )
        return arrays["probabilities"]

    def close(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
