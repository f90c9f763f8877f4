"""What the cloud says, as samples: exactly those that it spoke.

Opus comes with a beginning and an end that nobody should hear. How much of the end that
is, is known when the segment is over, so the last packet's worth is held until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np

from common.audio.opus import FRAME, TICKS_PER_SAMPLE, PacketDecoder
from common.audio.pcm import Pcm, from_s16
from common.errors import YaoheError
from common.protocol.frames import Codec, Frame
from common.protocol.stream import Ended, Spoken, Told
from edge.cloud_socket import Call

SILENCE_S = 10.0
"""Seconds without anything from the cloud after which it is given up."""


class CloudSound(AsyncIterator[Pcm]):
    """The samples of a call with one segment."""

    def __init__(self, call: Call) -> None:
        """Take a call over.

        Args:
            call: A call that nobody else reads.
        """
        self._call = call
        self._decoder: PacketDecoder | None = None
        self._skip = 0
        self._held: Pcm = np.zeros(0, dtype=np.float32)
        self._given = 0
        self._first: Pcm | None = None
        self.ended: Ended | None = None

    @property
    def is_cut(self) -> bool:
        """Whether the socket to the cloud is gone at the moment."""
        return self._call.is_cut

    async def begin(self) -> Told:
        """Wait for the first sound.

        Returns:
            What the cloud says about it.

        Raises:
            YaoheError: It refused, or gave no sound.
        """
        told: Told | None = None
        while True:
            item = await self._call.next()
            if isinstance(item, Told):
                told = item
                self._skip = item.pre_skip // TICKS_PER_SAMPLE
            first = self._samples(item)
            if first.size and told is not None:
                self._first = first
                return told
            if self.ended is not None:
                raise YaoheError("voice_unavailable", "the cloud gave no sound")

    async def __anext__(self) -> Pcm:
        """The next samples, at least one."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while self.ended is None:
            try:
                item = await asyncio.wait_for(self._call.next(), SILENCE_S)
            except asyncio.TimeoutError:
                raise YaoheError("voice_unavailable", "the cloud fell silent") from None
            pcm = self._samples(item)
            if pcm.size:
                return pcm
        raise StopAsyncIteration

    def _samples(self, item: object) -> Pcm:
        """What may be heard now that something came."""
        pcm = self._ready(item)
        self._given += pcm.size
        return pcm

    def _ready(self, item: object) -> Pcm:
        if isinstance(item, Frame):
            pcm = self._decoded(item)
            skipped = min(self._skip, pcm.size)
            self._skip -= skipped
            ready = np.concatenate((self._held, pcm[skipped:]))
            keep = FRAME if item.codec is Codec.OPUS else 0
            self._held = ready[max(0, ready.size - keep) :]
            return ready[: max(0, ready.size - keep)]
        if isinstance(item, Spoken):
            rest = self._held[: max(0, item.samples - self._given)]
            self._held = self._held[:0]
            return rest
        if isinstance(item, Ended):
            self.ended = item
        return self._held[:0]

    def _decoded(self, frame: Frame) -> Pcm:
        if frame.codec is Codec.PCM16:
            return from_s16(frame.payload)
        if self._decoder is None:
            self._decoder = PacketDecoder()
        return self._decoder.decode(frame.payload)

    async def aclose(self) -> None:
        """Want no more."""
        self._call.cancel()
