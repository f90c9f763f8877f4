"""A client at the other end of a conversation, without a network in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np

from common.audio.opus import PacketDecoder
from common.audio.pcm import Pcm, from_s16
from common.audio.provenance import Provenance
from common.errors import YaoheError
from common.protocol.frames import Frame, unpack
from common.protocol.synthesis import SpeechRequest
from common.sessions import Sessions
from common.speech import Speech, require_speakable
from common.streaming.conversation import Conversation
from common.text import read
from common.text.receipt import Receipt

CHUNK = 1000
PATIENCE_S = 20


def tone(text: str, chunks: int = 5, first: int = 0) -> Pcm:
    """The sound that stands for a text, from a chunk on."""
    seconds = np.arange(CHUNK * first, CHUNK * (first + chunks)) / 24_000
    hertz = 200 + sum(map(ord, text)) % 1800
    return (0.3 * np.sin(2 * np.pi * hertz * seconds)).astype(np.float32)


class Tones:
    """Speaks every text as a tone of its own, as a tier does."""

    def __init__(self, chunks: int = 5) -> None:
        self.chunks = chunks
        self.spoken: list[str] = []
        self.made = 0
        self.stopped = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails_after: int | None = None

    async def __call__(self, request: SpeechRequest, utterance: str) -> Speech:
        reading = read(request.input, request.dialect)
        require_speakable(reading, request)
        if request.voice == "nobody":
            raise YaoheError("unknown_voice", "no voice", param="voice")
        self.spoken.append(request.input)
        return Speech(
            utterance,
            Receipt(utterance, reading, True),
            tier="edge",
            reason="it can",
            provenance=Provenance("tones"),
            chunks=self._chunks(request.input),
        )

    async def _chunks(self, text: str) -> AsyncIterator[Pcm]:
        try:
            for number in range(self.chunks):
                await self.gate.wait()
                await asyncio.sleep(0)
                if number == self.fails_after:
                    raise YaoheError("voice_unavailable", "it broke")
                self.made += 1
                yield tone(text, 1, number)
        except (GeneratorExit, asyncio.CancelledError):
            self.stopped += 1
            raise


class Wire:
    """One socket: what the client sends and what it hears."""

    def __init__(self, sessions: Sessions, speak: Any, **options: Any) -> None:
        self._in: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._out: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.is_cut = False
        talk = Conversation(sessions, speak, self._in.get, self._send, **options)
        self.task = asyncio.create_task(talk.run())

    async def _send(self, message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        if self.is_cut:
            raise ConnectionResetError
        self._out.put_nowait(message)

    def say(self, **message: Any) -> None:
        self._in.put_nowait({"type": "websocket.receive", "text": json.dumps(message)})

    def say_raw(self, text: str | None, data: bytes | None = None) -> None:
        self._in.put_nowait({"type": "websocket.receive", "text": text, "bytes": data})

    async def hear(self) -> dict[str, Any] | Frame:
        """The next thing: a control message or a frame."""
        message = await asyncio.wait_for(self._out.get(), PATIENCE_S)
        if message["type"] == "websocket.close":
            return message
        if "text" in message:
            values: dict[str, Any] = json.loads(message["text"])
            return values
        return unpack(message["bytes"])

    async def until(self, kind: str) -> list[dict[str, Any] | Frame]:
        """Everything up to a control message of a kind."""
        heard = []
        while True:
            item = await self.hear()
            heard.append(item)
            if isinstance(item, dict) and item["type"] == kind:
                return heard

    async def cut(self) -> None:
        """Break the socket."""
        self.is_cut = True
        self._in.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(self.task, PATIENCE_S)


def frames(heard: list[dict[str, Any] | Frame]) -> list[Frame]:
    return [item for item in heard if isinstance(item, Frame)]


def events(heard: list[dict[str, Any] | Frame], kind: str) -> list[dict[str, Any]]:
    return [i for i in heard if isinstance(i, dict) and i["type"] == kind]


def pcm_of(heard: list[dict[str, Any] | Frame]) -> Pcm:
    return from_s16(b"".join(frame.payload for frame in frames(heard)))


def opus_of(heard: list[dict[str, Any] | Frame]) -> list[Pcm]:
    """The sound of each segment, exactly as long as it was said to be."""
    told, spoken = events(heard, "receipt"), events(heard, "spoken")
    sounds = []
    for begin, end in zip(told, spoken, strict=True):
        later = [other["seq"] for other in told if other["seq"] > begin["seq"]]
        decoder = PacketDecoder()
        parts = [
            decoder.decode(frame.payload)
            for frame in frames(heard)
            if begin["seq"] <= frame.seq < min([*later, 2**32]) and frame.payload
        ]
        sound = np.concatenate(parts)
        skip = begin["pre_skip"] // 2
        sounds.append(sound[skip : skip + end["samples"]])
    return sounds
