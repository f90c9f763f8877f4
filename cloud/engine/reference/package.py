"""Runs inside the environment that has the ChatTTS package; nothing imports this file.

The package's licence is AGPL-3.0-or-later, so no process of this project loads it.
:mod:`cloud.engine.reference.client` starts ``PYTHON package.py FOLDER THREADS``, which
reads requests from its input and answers on its output, both as
:mod:`cloud.engine.reference.wire` writes them. That file lies beside this one and is
found by path: the environment needs no Yaohe.

It can speak, and it can show what it computes, which is how another engine for the same
weights is compared with it.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast


def without_cuda() -> None:
    """Let torchaudio be imported where torch is for processors only.

    Only the native extension in its wheels is linked to CUDA, and torchaudio has a way
    to do without: it looks into a module whether the extension is there.
    """
    extension = types.ModuleType("torchaudio._extension")

    def unavailable(_: object) -> Any:
        def refuse(*_: object, **__: object) -> None:
            raise RuntimeError("torchaudio's native extension is not loaded")

        return refuse

    vars(extension).update(
        _IS_TORCHAUDIO_EXT_AVAILABLE=False,
        _IS_ALIGN_AVAILABLE=False,
        fail_if_no_align=unavailable,
        _check_cuda_version=lambda: None,
    )
    sys.modules.setdefault("torchaudio._extension", extension)


without_cuda()
import ChatTTS  # noqa: E402
import torch  # noqa: E402
from ChatTTS.config import config as sizes  # noqa: E402
from ChatTTS.model import gen_logits  # noqa: E402
from wire import Message, receive, send  # noqa: E402

Arrays = dict[str, Any]


def load(directory: Path) -> Any:
    """Load an asset folder, unpatched: only public attributes are set.

    Args:
        directory: Holds ``asset``; ``dims.json``, ``sha256_map.json`` and
            ``spk_stat.txt`` beside it say what differs from the published weights.

    Returns:
        A ``ChatTTS.Chat``.

    Raises:
        RuntimeError: The package refused the files.
    """
    # It warns of every request that takes all the steps that it may.
    logging.getLogger("ChatTTS").setLevel(logging.ERROR)
    chat = ChatTTS.Chat()
    if (directory / "dims.json").is_file():
        chat.config = _config(json.loads((directory / "dims.json").read_text("utf-8")))
    if (directory / "spk_stat.txt").is_file():
        stat = (directory / "spk_stat.txt").read_text("utf-8").strip()
        chat.config = replace(chat.config, spk_stat=stat)
    if (directory / "sha256_map.json").is_file():
        digests = (directory / "sha256_map.json").read_text("utf-8")
        chat.sha256_map = json.loads(digests)
    device = torch.device("cpu")
    if not chat.load(source="custom", custom_path=str(directory), device=device):
        raise RuntimeError(f"the ChatTTS package refuses the files in {directory}")
    return chat


def _config(dims: dict[str, Any]) -> Any:
    """The package's configuration for other sizes than the published ones."""
    vocos, vq, hidden = dims["vocos"], dims["vq"], dims["hidden"]
    counts = {
        "hidden_size": hidden,
        "num_audio_tokens": dims["audio_vocab"],
        "num_text_tokens": dims["text_vocab"],
        "num_vq": dims["num_vq"],
    }
    return sizes.Config(
        decoder=sizes.Decoder(**dims["dec"]),
        dvae=sizes.DVAE(
            encoder=sizes.Decoder(**dims["dvae_enc"]),
            decoder=sizes.Decoder(**dims["dvae_dec"]),
            vq=sizes.VQ(**{**vq, "levels": tuple(vq["levels"])}),
        ),
        gpt=sizes.GPT(
            intermediate_size=dims["inter"],
            num_attention_heads=dims["heads"],
            num_hidden_layers=dims["layers"],
            max_position_embeddings=dims["max_pos"],
            **counts,
        ),
        embed=sizes.Embed(**counts),
        vocos=sizes.Vocos(
            backbone=sizes.Backbone(
                init_args=sizes.BackboneInitArgs(
                    input_channels=vocos["mels"],
                    dim=vocos["dim"],
                    intermediate_dim=vocos["inter"],
                    num_layers=vocos["layers"],
                )
            ),
            head=sizes.FourierHead(
                init_args=sizes.FourierHeadInitArgs(
                    dim=vocos["dim"], n_fft=vocos["n_fft"], hop_length=vocos["hop"]
                )
            ),
        ),
    )


class Package:
    """A loaded package and what it is asked to do; each public method is a request.

    Attributes:
        running: Number of the request that runs.
        unwanted: Number of the last request that its asker gave up.
    """

    def __init__(self, chat: Any) -> None:
        self.running = self.unwanted = 0
        self._chat = chat
        self._began: list[float] = []
        chat.gpt.gpt.register_forward_pre_hook(self._step)

    def _step(self, *_: object) -> None:
        """Note when a step begins, and end a request that nobody wants any more."""
        self._began.append(time.perf_counter())
        if self.running == self.unwanted:
            self._chat.interrupt()

    def _parameters(self, asked: dict[str, Any]) -> Any:
        chat = self._chat
        form = chat.RefineTextParams if asked.get("refine") else chat.InferCodeParams
        return form(show_tqdm=False, **asked["parameters"])

    def about(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Versions of what runs here."""
        versions = {"torch": torch.__version__, "threads": torch.get_num_threads()}
        return versions, {}

    def speaker(self, asked: dict[str, Any], given: Arrays) -> Message:
        """A voice drawn by the package, in its text form."""
        torch.manual_seed(asked["seed"])
        return {"speaker": self._chat.sample_random_speaker()}, {}

    def speak(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Sound of one text, or of a list in one batch, as the package delivers it."""
        self._began.clear()
        start = time.perf_counter()
        waves = self._chat.infer(
            asked["texts"],
            skip_refine_text=True,
            split_text=False,
            do_text_normalization=False,
            do_homophone_replacement=False,
            params_infer_code=self._parameters(asked),
        )
        spent = time.perf_counter() - start
        steps = [began - start for began in self._began]
        sound = {f"wave{index}": wave for index, wave in enumerate(waves)}
        return {"steps": steps, "spent": spent}, sound

    def prompt(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Tokens of a text's prompt and their embedding, which the first step takes."""
        seen: Arrays = {}

        def look(*args: Any, **_: Any) -> Iterator[None]:
            embedded, ids = args[:2]
            seen.update(ids=ids[0, :, 0].numpy(), embedded=embedded[0].numpy())
            return iter([None])

        self._generating(look, asked)
        return {}, seen

    def trace(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Hidden states, logits and codes of each step.

        ``codes`` [steps, codebooks] are what the steps are forced to draw; without them
        each draws what is most probable. ``refine`` refines text in place of speaking.
        """
        logits: list[Any] = []
        forced = given.get("codes")

        def choose(history: Any, scores: Any) -> Any:
            logits.append(scores.clone())
            if forced is None:
                best = scores.argmax(1, keepdim=True)
            else:
                best = torch.from_numpy(forced[len(logits) - 1 :][:1].T.copy())
            return torch.full_like(scores, -torch.inf).scatter(1, best, 0.0)

        generate = self._chat.gpt.generate

        def choosing(*args: Any, **more: Any) -> Any:
            return generate(*args, **{**more, "logits_processors": (choose,)})

        made = self._generating(choosing, asked)
        shown = {
            "codes": made[-1].ids[0].numpy(),
            "logits": torch.stack(logits).numpy(),
        }
        if made[-1].hiddens:
            shown["hidden"] = made[-1].hiddens[0].numpy()
        return {}, shown

    def _generating(self, generate: Any, asked: dict[str, Any]) -> list[Any]:
        """Codes of a text, drawn by ``generate`` in place of the package's own."""
        chat, parameters = self._chat, self._parameters(asked)
        chat.gpt.generate = generate
        try:
            if asked.get("refine"):
                return [chat._refine_text(asked["texts"], "cpu", parameters)]
            return list(
                chat._infer_code(asked["texts"], False, "cpu", True, parameters)
            )
        finally:
            del chat.gpt.generate

    def decode(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Sound of hidden states or of codes, before silence is taken out of it."""
        is_hidden = "hidden" in given
        steps = given["hidden"] if is_hidden else given["codes"]
        wave = self._chat._decode_to_wavs([torch.from_numpy(steps.copy())], is_hidden)
        return {}, {"wave": wave[0]}

    def sampler(self, asked: dict[str, Any], given: Arrays) -> Message:
        """Probabilities, from logits [rows, codes] and history [rows, steps]."""
        warpers, processors = gen_logits(**asked["parameters"])
        scores = torch.from_numpy(given["logits"] / asked["temperature"])
        history = torch.from_numpy(given["history"].copy())
        for step in (*processors, *warpers):
            scores = step(history, scores)
        return {}, {"probabilities": scores.softmax(-1).numpy()}


def serve(package: Package, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests in order until the input ends; ``stop`` overtakes them."""
    waiting: queue.Queue[Message | None] = queue.Queue()

    def read() -> None:
        while (message := receive(source)) is not None:
            if message[0]["do"] == "stop":
                package.unwanted = message[0]["number"]
            else:
                waiting.put(message)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (message := waiting.get()) is not None:
        asked, given = message
        package.running = asked["number"]
        try:
            with torch.no_grad():
                answer = getattr(package, asked["do"])(asked, given)
        except Exception as error:  # noqa: BLE001 - the asker decides what it means
            answer = {"error": f"{type(error).__name__}: {error}"}, {}
        send(sink, *answer)


def main() -> None:
    """Load the folder named on the command line and serve."""
    # The package prints; what it prints must not come between answers.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if len(sys.argv) > 2:
        torch.set_num_threads(int(sys.argv[2]))
    try:
        package = Package(load(Path(sys.argv[1])))
    except Exception as error:  # noqa: BLE001 - told to whoever started this
        send(sink, {"error": f"{type(error).__name__}: {error}"}, {})
        return
    send(sink, {}, {})
    serve(package, cast(BinaryIO, sys.stdin.buffer), cast(BinaryIO, sink))


if __name__ == "__main__":
    main()
