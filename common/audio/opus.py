"""Opus: packets from sound, sound from packets, and the master that both tiers keep.

Rules of this module:

* 24 kHz, mono, 20 ms: a packet is 480 samples.
* Nothing is lost at either end. The encoder runs late by its lookahead; that much is
  flushed after the last sample, and the exact count of samples goes along, so that
  decoding gives as many samples as were encoded.
* An encoder serves one stream; any thread may use it, one at a time.
* libopus comes from the system; without it everything else still works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from common.audio.library import load
from common.audio.ogg import PACKET_TICKS, OggWriter, read_ogg
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Comments
from common.audio.tags import unreadable
from common.errors import YaoheError

FRAME = 480
"""Samples of a packet: 20 ms."""

TICKS_PER_SAMPLE = 2
"""Ogg positions (48 kHz) per sample."""

BITRATE = 32_000
"""Bits per second of masters and, until told otherwise, of streams."""
MIN_BITRATE, MAX_BITRATE = 6_000, 128_000

COMPLEXITY = 5
"""libopus's effort for streams, 0-10: about 1 % of one core."""
MASTER_COMPLEXITY = 5
"""The same for masters. On speech, 9 takes twice the time and decodes no better."""

MAX_PACKET_BYTES = 1275
"""Longest packet that the format allows for one frame."""

LIBRARY_PACKAGE = "libopus0"
"""The Debian and Ubuntu package with the library."""

Application = Literal["voip", "audio"]

_SIGNAL_VOICE = 3001
_TOC_20MS = frozenset((1, 5, 9, 13, 15, 19, 23, 27, 31))
"""Configurations whose frames last 20 ms (RFC 6716, table 2)."""


def _library() -> Any:
    """The binding; it raises on import where libopus is missing."""
    return load(
        "opuslib",
        ("opuslib.api.encoder", "opuslib.api.decoder", "opuslib.api.ctl"),
        "Opus needs the system's libopus; on Debian or Ubuntu: "
        f"apt-get install {LIBRARY_PACKAGE}",
    )


@dataclass(frozen=True)
class OpusMaster:
    """One finished rendition as it is cached, sent and played.

    Attributes:
        packets: Packets of 20 ms in order.
        pre_skip: Ticks of 1/48,000 s that a player drops from the start.
        samples: Samples at 24 kHz that are heard.
        comments: What the file says about itself.
    """

    packets: tuple[bytes, ...]
    pre_skip: int
    samples: int
    comments: Comments = ()
    _file: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.samples / SAMPLE_RATE

    def to_bytes(self, comments: Comments | None = None) -> bytes:
        """The master as a playable Ogg Opus file; nothing is encoded again.

        Args:
            comments: What the file shall say about itself; None keeps what it says.

        Returns:
            The file.
        """
        said = self.comments if comments is None else comments
        if self._file is not None and said == self.comments:
            return self._file
        end = self.pre_skip + self.samples * TICKS_PER_SAMPLE
        return OggWriter(self.pre_skip, said).write(self.packets, end)

    @classmethod
    def from_bytes(cls, data: bytes) -> OpusMaster:
        """Read a master's file back.

        Args:
            data: What :meth:`to_bytes` gave.

        Returns:
            The master.

        Raises:
            YaoheError: ``invalid_request`` for anything that is not a whole, undamaged
                Ogg Opus file of 20 ms packets.
        """
        stream = read_ogg(data)
        for packet in stream.packets:
            if not packet or packet[0] & 7 or packet[0] >> 3 not in _TOC_20MS:
                unreadable("a packet is not one mono frame of 20 ms")
        spoken = len(stream.packets) * PACKET_TICKS - stream.pre_skip
        if stream.ticks % TICKS_PER_SAMPLE or not 0 < stream.ticks <= spoken:
            unreadable("its length does not fit its packets")
        samples = stream.ticks // TICKS_PER_SAMPLE
        return cls(stream.packets, stream.pre_skip, samples, stream.comments, data)


class PacketEncoder:
    """Turns one stream of sound into packets as it comes."""

    def __init__(
        self,
        bitrate: int = BITRATE,
        *,
        application: Application = "audio",
        complexity: int = COMPLEXITY,
    ) -> None:
        """Open an encoder.

        Args:
            bitrate: Bits per second, ``MIN_BITRATE`` to ``MAX_BITRATE``.
            application: libopus's mode; ``voip`` filters the lowest tones out.
            complexity: libopus's effort, 0-10.

        Raises:
            YaoheError: ``unsupported_format`` when libopus is missing.
        """
        opus = _library()
        self._opus = opus
        self._state = opus.Encoder(SAMPLE_RATE, 1, application)
        self._set("set_signal", _SIGNAL_VOICE)
        self._set("set_complexity", complexity)
        self.set_bitrate(bitrate)
        self._lookahead = int(
            opus.api.encoder.encoder_ctl(
                self._state.encoder_state, opus.api.ctl.get_lookahead
            )
        )
        self._pending: Pcm = np.zeros(0, dtype=np.float32)
        self.samples = 0

    @property
    def pre_skip(self) -> int:
        """Ticks of 1/48,000 s that a player drops from the start."""
        return self._lookahead * TICKS_PER_SAMPLE

    def set_bitrate(self, bitrate: int) -> None:
        """Change the rate from the next packet on.

        Args:
            bitrate: Bits per second; what lies outside the bounds is moved to them.
        """
        self._set("set_bitrate", min(max(bitrate, MIN_BITRATE), MAX_BITRATE))

    def feed(self, pcm: Pcm) -> list[bytes]:
        """Encode what fills packets; keep the rest for later.

        Args:
            pcm: Sound that follows what came before, shape (samples,).

        Returns:
            Packets of 20 ms.
        """
        self.samples += pcm.size
        sound = np.concatenate((self._pending, pcm)) if self._pending.size else pcm
        whole = sound.size - sound.size % FRAME
        # A copy: the caller may use its buffer again.
        self._pending = np.array(sound[whole:], dtype=np.float32)
        return self._encode(sound[:whole])

    def finish(self) -> list[bytes]:
        """Encode what is left, with silence until the last sample is out.

        Returns:
            At least one packet.
        """
        left = self._pending.size + self._lookahead
        padded = np.zeros(-(-left // FRAME) * FRAME, dtype=np.float32)
        padded[: self._pending.size] = self._pending
        self._pending = self._pending[:0]
        return self._encode(padded)

    def _encode(self, frames: Pcm) -> list[bytes]:
        data = np.nan_to_num(frames, nan=0.0, posinf=1.0, neginf=-1.0)
        raw = np.clip(data, -1.0, 1.0).astype("=f4").tobytes()
        encode = self._opus.api.encoder.encode_float
        size = FRAME * 4
        return [
            cast(
                bytes,
                encode(
                    self._state.encoder_state,
                    raw[at : at + size],
                    FRAME,
                    MAX_PACKET_BYTES,
                ),
            )
            for at in range(0, len(raw), size)
        ]

    def _set(self, request: str, value: int) -> None:
        self._opus.api.encoder.encoder_ctl(
            self._state.encoder_state, getattr(self._opus.api.ctl, request), value
        )


def encode_master(
    pcm: Pcm, comments: Comments = (), *, bitrate: int = BITRATE
) -> OpusMaster:
    """Encode a whole sound.

    Args:
        pcm: The sound, shape (samples,), at least one sample.
        comments: What the file says about itself.
        bitrate: Bits per second.

    Returns:
        The master.

    Raises:
        YaoheError: ``unsupported_format`` without libopus; ``internal_error`` for a
            sound without samples, which nobody may keep.
    """
    if pcm.size == 0:
        raise YaoheError("internal_error", "There is no sound to encode.")
    encoder = PacketEncoder(bitrate, complexity=MASTER_COMPLEXITY)
    packets = (*encoder.feed(pcm), *encoder.finish())
    return OpusMaster(packets, encoder.pre_skip, pcm.size, comments)


def decode(master: OpusMaster) -> Pcm:
    """Decode a master.

    Args:
        master: The master.

    Returns:
        Exactly ``master.samples`` samples.

    Raises:
        YaoheError: ``unsupported_format`` without libopus; ``invalid_request`` when a
            packet is damaged.
    """
    sound = decode_packets(master.packets)
    skip = master.pre_skip // TICKS_PER_SAMPLE
    return sound[skip : skip + master.samples]


def decode_packets(packets: Sequence[bytes]) -> Pcm:
    """Decode packets of one stream, lookahead included.

    Args:
        packets: Packets of 20 ms from the stream's beginning.

    Returns:
        480 samples per packet.

    Raises:
        YaoheError: As :func:`decode`.
    """
    decoder = PacketDecoder()
    sound = [decoder.decode(packet) for packet in packets]
    return np.concatenate(sound) if sound else np.zeros(0, dtype=np.float32)


class PacketDecoder:
    """Turns the packets of one stream into sound as they come."""

    def __init__(self) -> None:
        """Open a decoder.

        Raises:
            YaoheError: ``unsupported_format`` when libopus is missing.
        """
        opus = _library()
        self._state = opus.Decoder(SAMPLE_RATE, 1)
        self._pointer = opus.api.c_float_pointer
        self._run = opus.api.decoder.libopus_decode_float

    def decode(self, packet: bytes) -> Pcm:
        """Decode the next packet.

        Args:
            packet: A packet of 20 ms.

        Returns:
            480 samples; the first ones of a stream are the encoder's lookahead.

        Raises:
            YaoheError: ``invalid_request`` for a damaged packet.
        """
        sound = np.zeros(FRAME, dtype=np.float32)
        target = sound.ctypes.data_as(self._pointer)
        state = self._state.decoder_state
        if self._run(state, packet, len(packet), target, FRAME, 0) != FRAME:
            unreadable("a packet cannot be decoded")
        return sound
