"""Sound into the payloads of frames: 20 ms Opus packets, or pieces of pcm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from common.audio.opus import FRAME, PacketEncoder, decode
from common.audio.pcm import Pcm, to_s16
from common.audio.sounding import Sounding
from common.errors import YaoheError
from common.protocol.frames import Codec
from common.speech import Speech
from common.streaming.pace import Pace

PCM_FRAME = 5 * FRAME
"""Samples of a pcm frame: 100 ms."""
ENCODED_AT_ONCE = 25 * FRAME
"""Samples encoded in one go; half a second, so that the first frames leave early."""


@dataclass(frozen=True)
class Payload:
    """What one frame carries.

    Attributes:
        data: Coded sound.
        samples: Samples that a decoder gives for it.
    """

    data: bytes
    samples: int


class OpusFrames:
    """A segment as packets; each segment is an Opus stream of its own."""

    codec = Codec.OPUS

    def __init__(self, speech: Speech, pace: Pace, bitrate: int | None) -> None:
        """Look at a speech.

        Args:
            speech: What is spoken.
            pace: The socket's bitrate.
            bitrate: A fixed one, if the client wants it.
        """
        self._speech = speech
        self._pace = pace
        self._bitrate = bitrate
        self.samples = 0
        master = speech.whole.opus if speech.whole else None
        # A finished sound is sent as it is kept: nothing is encoded twice.
        self._master = master
        self._encoder = PacketEncoder() if master is None else None
        self.pre_skip = master.pre_skip if master else self._lookahead()

    def _lookahead(self) -> int:
        return self._encoder.pre_skip if self._encoder is not None else 0

    async def __aiter__(self) -> AsyncIterator[Payload]:
        """The payloads, as they are ready."""
        if self._master is not None:
            for packet in self._master.packets:
                yield Payload(packet, FRAME)
            self.samples = self._master.samples
            return
        encoder = self._encoder
        if encoder is None:
            return
        async for pcm in pieces(self._speech, ENCODED_AT_ONCE):
            encoder.set_bitrate(self._bitrate or self._pace.bitrate)
            for packet in await asyncio.to_thread(encoder.feed, pcm):
                yield Payload(packet, FRAME)
        for packet in await asyncio.to_thread(encoder.finish):
            yield Payload(packet, FRAME)
        self.samples = encoder.samples


class PcmFrames:
    """A segment as signed 16-bit samples."""

    codec = Codec.PCM16
    pre_skip = 0

    def __init__(self, speech: Speech) -> None:
        """Look at a speech.

        Args:
            speech: What is spoken.
        """
        self._speech = speech
        self.samples = 0

    async def __aiter__(self) -> AsyncIterator[Payload]:
        """The payloads, as they are ready."""
        async for pcm in pieces(self._speech, PCM_FRAME):
            self.samples += pcm.size
            yield Payload(to_s16(pcm), pcm.size)


async def pieces(speech: Speech, longest: int) -> AsyncIterator[Pcm]:
    """The sound of a speech in pieces that are not too long.

    Args:
        speech: What is spoken.
        longest: Samples of a piece at most.

    Yields:
        Samples, at least one each.

    Raises:
        YaoheError: What the engine raised; ``voice_unavailable`` for no sound at all.
    """
    if speech.whole is not None:
        whole = speech.whole
        if whole.pcm is not None:
            pcm = whole.pcm
        elif whole.opus is not None:
            pcm = await asyncio.to_thread(decode, whole.opus)
        for at in range(0, pcm.size, longest):
            yield pcm[at : at + longest]
        return
    if speech.chunks is None:
        raise YaoheError("internal_error", "the speech has no sound")
    sounding = Sounding(speech.chunks)
    await sounding.begin()
    try:
        async for chunk in sounding:
            for at in range(0, chunk.size, longest):
                yield chunk[at : at + longest]
    finally:
        await sounding.aclose()
