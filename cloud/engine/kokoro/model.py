"""Kokoro's graph: tokens and a style in, samples out, nothing random in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cloud.engine.kokoro import assets
from cloud.engine.kokoro.tokens import Tokens, tokens_of
from common.errors import YaoheError
from common.text.symbols import Symbol
from common.voice.runtime import DEFAULT_THREADS, Session

DURATIONS = "/encoder/Clip_output_0"
"""Extra output: frames per token with both ends, float; a frame is 600 samples."""
F0 = "/encoder/F0_proj/Conv_output_0"
"""Extra output: Hertz, two per frame; below 10 is unvoiced."""
FRAME_SAMPLES = 600

MAX_MODEL_TOKENS = assets.STYLE_ROWS
"""Tokens that the model takes in one run; the style table has no row beyond."""


@dataclass(frozen=True)
class Spoken:
    """What one run gives.

    Attributes:
        audio: Samples, shape [n], 24 kHz; may exceed [-1, 1] a little.
        tokens: What was spoken, and the symbol that each token belongs to.
        extras: The extra outputs asked for, each flat.
    """

    audio: NDArray[np.float32]
    tokens: Tokens
    extras: dict[str, NDArray[np.float32]] = field(default_factory=dict)


class Model:
    """Kokoro, loaded; :func:`load` builds it. Any thread may run it."""

    def __init__(
        self,
        session: Session,
        styles: dict[str, NDArray[np.float32]],
        extra_outputs: Sequence[str] = (),
    ) -> None:
        """Take loaded parts.

        Args:
            session: The graph.
            styles: Style tables, shape [510, 256], by their own names.
            extra_outputs: The graph's outputs after ``audio``, if it has that, in
                order.
        """
        self._session = session
        self._styles = styles
        self._extra_outputs = tuple(extra_outputs)

    def speak(
        self, symbols: Sequence[Symbol], voice: str, *, speed: float = 1.0
    ) -> Spoken:
        """Speak one sentence in one run.

        Args:
            symbols: Anything that is at most ``MAX_MODEL_TOKENS`` tokens.
            voice: A key of :data:`cloud.engine.kokoro.assets.VOICES`.
            speed: Factor on the model's own speed.

        Returns:
            The sound with the model's own silence around it; no samples where it was
            loaded without a voice.

        Raises:
            YaoheError: ``unknown_voice``; ``nothing_to_say`` for symbols without
                tokens; ``input_too_long`` for too many.
        """
        if voice not in assets.VOICES:
            raise YaoheError("unknown_voice", f"Kokoro has no voice {voice!r}")
        tokens = tokens_of(symbols)
        if not tokens.ids:
            raise YaoheError("nothing_to_say", "no symbol of this sentence sounds")
        if len(tokens.ids) > MAX_MODEL_TOKENS:
            raise YaoheError(
                "input_too_long",
                f"{len(tokens.ids)} tokens; Kokoro takes {MAX_MODEL_TOKENS} at once",
            )
        style = self._styles[assets.VOICES[voice]][len(tokens.ids) - 1]
        outputs = self._session.run(
            {
                "tokens": np.array([[0, *tokens.ids, 0]], np.int64),
                "style": style[None],
                "speed": np.array([speed], np.float32),
            }
        )
        flat: list[NDArray[np.float32]] = [
            np.asarray(output, np.float32).ravel() for output in outputs
        ]
        first = len(flat) - len(self._extra_outputs)
        audio = flat[0] if first else np.zeros(0, np.float32)
        extras = dict(zip(self._extra_outputs, flat[first:], strict=True))
        return Spoken(audio, tokens, extras)


def load(
    directory: Path,
    *,
    extra_outputs: Sequence[str] = (),
    has_sound: bool = True,
    threads: int = DEFAULT_THREADS,
) -> Model:
    """Load Kokoro after checking every file.

    Args:
        directory: Kokoro's folder, as ``yaohe-cloud engine fetch kokoro`` leaves it.
        extra_outputs: Inner values to give out beside the audio, such as
            :data:`DURATIONS` and :data:`F0`; needs the ``onnx`` package.
        has_sound: Whether it is to speak; the extra outputs alone take a thirtieth of
            the time.
        threads: Threads of one run.

    Returns:
        The model.

    Raises:
        YaoheError: ``pack_invalid``: a file is missing or is another one.
    """
    assets.check(directory)
    graph = directory / assets.MODEL_FILE
    session = Session(
        _opened(graph, extra_outputs, has_sound) if extra_outputs else graph,
        threads=threads,
    )
    shape = (assets.STYLE_ROWS, assets.STYLE_WIDTH)
    styles: dict[str, NDArray[np.float32]] = {
        name: np.fromfile(assets.style_path(directory, name), "<f4").reshape(shape)
        for name in assets.STYLES
    }
    return Model(session, styles, extra_outputs)


def _opened(graph: Path, extra_outputs: Sequence[str], has_sound: bool) -> bytes:
    """The graph with inner values among its outputs, or with them alone."""
    # Only those who ask for inner values (the teacher) need the package.
    import onnx
    from onnx.utils import Extractor

    model = onnx.load(str(graph))
    for name in extra_outputs:
        value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        model.graph.output.append(value)
    if not has_sound:
        inputs = [value.name for value in model.graph.input]
        model = Extractor(model).extract_model(inputs, list(extra_outputs))
    data: bytes = model.SerializeToString()
    return data
