"""A voice of a few lines, as real as the stage can tell: sound that names its text."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from common.audio.pcm import SAMPLE_RATE, Pcm
from common.text.symbols import Symbol
from edge.packs import LoadedPack

CHUNK = 2400


def hertz(symbols: Sequence[Symbol]) -> int:
    """The pitch that stands for a text, 200 to 1999 Hz."""
    return 200 + zlib.crc32(str([s.id for s in symbols]).encode()) % 1800


@dataclass
class TinyVoice:
    """Speaks each text as a tone of its own.

    Attributes:
        voices: Logical voices.
        dialects: Dialects.
        chunks: Chunks of 0.1 s in each utterance.
        gate: Every chunk waits for it.
        pause_s: Seconds of work for a chunk.
        fails_at: Chunk that raises instead.
        begun: Utterances begun.
        made: Chunks made.
        closed: Utterances that were closed before their end.
    """

    voices: Sequence[str] = ("woman",)
    dialects: Sequence[str] = ("zh",)
    chunks: int = 5
    gate: threading.Event = field(default_factory=threading.Event)
    pause_s: float = 0.0
    fails_at: int | None = None
    begun: int = 0
    made: int = 0
    closed: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    def speak(
        self,
        symbols: Sequence[Symbol],
        *,
        voice: str,
        dialect: str = "zh",
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 0.0,
    ) -> Iterator[Pcm]:
        self.begun += 1
        seconds = np.arange(CHUNK * self.chunks) / SAMPLE_RATE
        sound = (0.3 * np.sin(2 * np.pi * hertz(symbols) * seconds)).astype(np.float32)
        try:
            for number in range(self.chunks):
                self.gate.wait(20)
                time.sleep(self.pause_s)
                if number == self.fails_at:
                    raise RuntimeError("the tiny voice fails on purpose")
                self.made += 1
                yield sound[number * CHUNK : (number + 1) * CHUNK]
        except GeneratorExit:
            self.closed += 1
            raise


def pack(voice: TinyVoice, name: str = "tiny@1.0.0", quality: int = 50) -> LoadedPack:
    """A loaded pack around a tiny voice."""
    digest = f"{zlib.crc32(name.encode()):064x}"
    return LoadedPack(name, digest, quality, True, voice)


def heard_hertz(pcm: Pcm) -> int:
    """The strongest pitch of a sound."""
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(pcm.size)))
    return round(int(spectrum.argmax()) * SAMPLE_RATE / pcm.size)
