"""ChatTTS as a teacher, with weights that the user brings.

It takes characters and chooses readings itself, and tells neither durations nor pitch:
it is given the words of our own reading, and the corpus finds out the rest. Its
published weights are CC BY-NC 4.0, for research; what it teaches inherits that.

A voice is ``seed N``, a speaker drawn at random and always the same, or the name of a
text in the folder ``speakers`` beside ``asset``. What is said and by whom decides the
random numbers, so the same sentence sounds the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cloud.engine.chattts import speakers
from cloud.engine.chattts.assets import Assets, load
from cloud.engine.chattts.clauses import pieces
from cloud.engine.chattts.request import Request
from cloud.engine.chattts.runner import Runner
from cloud.engine.chattts.sampler import Sampling
from cloud.engine.chattts.scheduler import Scheduler
from cloud.engine.chattts.sequence import Tokenizer, speed_level
from cloud.engine.chattts.stream import Vocoder
from cloud.engine.chattts.utterance import MIN_STEPS, STEPS_BESIDE, STEPS_PER_TOKEN
from common.errors import YaoheError, quoted
from common.protocol.manifest import Teacher as Card
from common.text import read
from common.text.symbols import Symbol
from distill.teacher.base import Lesson, Plug

CACHE_BYTES = 512 << 20
"""Keys and values of the one sentence that is spoken: 4096 tokens at full size."""
SPEAKERS = "speakers"
_SEED = re.compile(r"seed ([0-9]{1,9})")


class ChatTtsTeacher:
    """ChatTTS, loaded; one sentence at a time."""

    def __init__(self, directory: Path) -> None:
        """Load and check the files.

        Args:
            directory: Holds the folder ``asset``.

        Raises:
            YaoheError: ``pack_invalid`` naming the file that is wrong.
        """
        self._directory = directory
        self._assets = load(directory)
        self._tokenizer = Tokenizer(self._assets.tokenizer)
        runner = Runner(self._assets, budget_bytes=CACHE_BYTES)
        self._longest = min(self._assets.shape.max_positions, runner.slots.tokens)
        self._scheduler = Scheduler(runner, rows=1)
        self._vocoder = Vocoder(self._assets)

    def speak(
        self,
        symbols: Sequence[Symbol],
        voice: str,
        speed: float = 1.0,
        *,
        text: str = "",
    ) -> Lesson:
        """Say one sentence; see :class:`distill.teacher.base.Teacher`."""
        if not text:
            raise YaoheError("invalid_request", "this teacher needs the text")
        spoken = read(text).spoken
        speaker = _speaker(self._assets, self._directory, voice)
        seed = hashlib.sha256(f"{voice}\n{spoken}".encode()).digest()
        sounds = [
            self._say(piece, speaker, speed, int.from_bytes(seed[:7], "big") + number)
            for number, piece in enumerate(pieces(spoken))
        ]
        return Lesson(np.concatenate(sounds))

    def _say(
        self, words: str, speaker: Tensor, speed: float, seed: int
    ) -> NDArray[np.float32]:
        """One breath, from words to sound."""
        said = self._tokenizer.words(words)
        if said.unsayable or not said.ids:
            raise YaoheError(
                "unreadable_text", f"no token for {quoted(''.join(said.unsayable))}"
            )
        prompt = self._tokenizer.speech(said, speed=speed_level(speed))
        room = self._longest - len(prompt.ids)
        steps = min(STEPS_BESIDE + STEPS_PER_TOKEN * len(said.ids), room)
        if steps < MIN_STEPS:
            raise YaoheError("input_too_long", f"{len(prompt.ids)} tokens in a breath")
        sampling = Sampling(min_steps=MIN_STEPS, max_steps=steps)
        self._scheduler.submit(Request(prompt, speaker, sampling, seed))
        hidden: list[Tensor] = []
        while self._scheduler.is_busy:
            made = self._scheduler.step()
            hidden += [each.hidden for each in made if each.hidden is not None]
        return self._vocoder.whole(torch.stack(hidden))


def _speaker(assets: Assets, directory: Path, voice: str) -> Tensor:
    """The vector of a voice."""
    hidden, stat = assets.shape.hidden, assets.speaker_stat
    numbers = (stat[0].numpy(), stat[1].numpy()) if stat is not None else None
    seed = _SEED.fullmatch(voice)
    if seed is not None and numbers is not None:
        return torch.from_numpy(speakers.drawn(int(seed[1]), *numbers))
    folder = directory / SPEAKERS
    known = speakers.load(folder, hidden, numbers).vectors if folder.is_dir() else {}
    vector = known.get((voice, speakers.DEFAULT_DIALECT))
    if vector is None:
        raise YaoheError(
            "unknown_voice", f"no speaker {quoted(voice)} in {folder}; or say seed N"
        )
    return torch.from_numpy(vector)


def plug(directory: Path) -> Plug:
    """ChatTTS, not loaded yet.

    Args:
        directory: Holds the folder ``asset``.

    Returns:
        What it is and how it is loaded.

    Raises:
        YaoheError: ``not_ready`` where there are no files; ``pack_invalid``.
    """
    if not (directory / "asset").is_dir():
        raise YaoheError(
            "not_ready",
            f"{directory} holds no folder asset; nobody may bring you these weights, "
            "so put them there yourself, or name their folder in "
            "YAOHE_DISTILL_CHATTTS",
        )
    assets = load(directory)
    return Plug(
        card=Card(
            name="chattts",
            licence=assets.licence,
            note="ChatTTS, weights given by whoever made this, read by itself.",
        ),
        digests={"asset": assets.digest},
        fetch=_nothing_to_fetch,
        size=partial(_size, directory),
        engage=partial(ChatTtsTeacher, directory),
    )


def _nothing_to_fetch(say: Callable[[str], object]) -> None:
    """The user brought the files."""
    say("the weights are the user's own")


def _size(directory: Path) -> int:
    """Bytes of the folder ``asset``."""
    files = (directory / "asset").rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file())
