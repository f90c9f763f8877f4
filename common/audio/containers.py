"""Formats by name: their media types, their encoders, and where a file comes from.

Rules of this module:

* Everything is 24 kHz, mono; raw ``pcm`` is 16-bit little-endian and says its rate in
  its media type, having no header to say it in.
* ``opus`` is an Ogg file. A finished master becomes one by copying; nothing is decoded
  or encoded again.
* Every container but raw pcm carries the provenance and gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from common.audio.flac import FlacStream, read_flac_comments, write_flac
from common.audio.mp3 import Mp3Stream, read_mp3_comments, write_mp3
from common.audio.ogg import OggWriter, read_ogg
from common.audio.opus import (
    TICKS_PER_SAMPLE,
    OpusMaster,
    PacketEncoder,
    decode,
    encode_master,
)
from common.audio.pcm import SAMPLE_RATE, Pcm, to_s16
from common.audio.provenance import Comments, Provenance
from common.audio.wav import WavStream, read_wav_comments, write_wav
from common.errors import YaoheError, quoted

MEDIA_TYPES: Mapping[str, str] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg; codecs=opus",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": f"audio/pcm;rate={SAMPLE_RATE};channels=1",
}
"""Formats that can be asked for, and how they are announced."""

UNCODED = frozenset(("wav", "pcm"))
"""Formats that cost no more than a copy, so that no thread is needed for them."""


class Rendition(Protocol):
    """A finished sound; at least one of the two is there."""

    @property
    def pcm(self) -> Pcm | None:
        """The samples."""

    @property
    def opus(self) -> OpusMaster | None:
        """The master."""


class StreamEncoder(Protocol):
    """Turns chunks of sound into bytes; the header goes out once, with the first."""

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk; the bytes may be none yet."""

    def finish(self) -> bytes:
        """Encode what is left."""


class PcmStream:
    """Raw samples."""

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk."""
        return to_s16(pcm)

    def finish(self) -> bytes:
        """Nothing is ever left."""
        return b""


class OpusStream:
    """Ogg Opus as it comes: a page with every chunk, its last one cut to length."""

    def __init__(self, comments: Comments) -> None:
        """Open an encoder.

        Args:
            comments: What the file says about itself.

        Raises:
            YaoheError: ``unsupported_format`` when libopus is missing.
        """
        self._packets = PacketEncoder()
        self._pages = OggWriter(self._packets.pre_skip, comments)

    def feed(self, pcm: Pcm) -> bytes:
        """Encode a chunk."""
        packets = self._packets.feed(pcm)
        return self._pages.write(packets) if packets else b""

    def finish(self) -> bytes:
        """Encode the last partial packet; its page says where the sound ends."""
        end = self._packets.pre_skip + self._packets.samples * TICKS_PER_SAMPLE
        return self._pages.write(self._packets.finish(), end)


_STREAMS: Mapping[str, Callable[[Comments], StreamEncoder]] = {
    "mp3": Mp3Stream,
    "opus": OpusStream,
    "flac": FlacStream,
    "wav": WavStream,
    "pcm": lambda _: PcmStream(),
}
_WHOLES: Mapping[str, Callable[[Pcm, Comments], bytes]] = {
    "mp3": write_mp3,
    "flac": write_flac,
    "wav": write_wav,
    "pcm": lambda pcm, _: to_s16(pcm),
}


def media_type(response_format: str) -> str:
    """Say how a format is announced, or refuse it.

    Args:
        response_format: Name of a format.

    Returns:
        Its media type.

    Raises:
        YaoheError: ``unsupported_format``, for ``aac`` too: no free encoder is here.
    """
    try:
        return MEDIA_TYPES[response_format]
    except KeyError:
        raise YaoheError(
            "unsupported_format",
            f"The format {quoted(response_format)} is not encoded here; "
            f"choose one of {', '.join(MEDIA_TYPES)}.",
            param="response_format",
        ) from None


def available_formats() -> tuple[str, ...]:
    """Find out which formats this machine encodes; it loads their libraries.

    Call it once when a process starts: the first sound then waits for no library.

    Returns:
        Names of formats, in the order of ``MEDIA_TYPES``.
    """
    return tuple(name for name in MEDIA_TYPES if _is_available(name))


def _is_available(response_format: str) -> bool:
    try:
        _STREAMS[response_format](()).finish()
    except YaoheError:
        return False
    return True


def stream_encoder(response_format: str, provenance: Provenance) -> StreamEncoder:
    """Open an encoder for a sound that is still being made.

    Args:
        response_format: Name of a format.
        provenance: Where the sound comes from.

    Returns:
        The encoder.

    Raises:
        YaoheError: ``unsupported_format``.
    """
    media_type(response_format)
    return _STREAMS[response_format](provenance.comments())


def encode_whole(
    response_format: str, whole: Rendition, provenance: Provenance
) -> bytes:
    """Encode a finished sound, lengths exact.

    Args:
        response_format: Name of a format.
        whole: The sound.
        provenance: Where the sound comes from.

    Returns:
        The file.

    Raises:
        YaoheError: ``unsupported_format``; ``voice_unavailable`` for an empty sound.
    """
    media_type(response_format)
    comments = provenance.comments()
    if response_format == "opus" and whole.opus is not None:
        return whole.opus.to_bytes(comments)
    pcm = samples_of(whole)
    if response_format == "opus":
        return encode_master(pcm, comments).to_bytes()
    return _WHOLES[response_format](pcm, comments)


def samples_of(whole: Rendition) -> Pcm:
    """The samples of a finished sound, decoded if need be.

    Args:
        whole: The sound.

    Returns:
        At least one sample.

    Raises:
        YaoheError: ``voice_unavailable`` for an empty sound.
    """
    pcm = whole.pcm
    if pcm is None:
        pcm = np.zeros(0, np.float32) if whole.opus is None else decode(whole.opus)
    if pcm.size == 0:
        raise YaoheError("voice_unavailable", "The sound is empty.")
    return pcm


def read_provenance(data: bytes) -> Provenance | None:
    """Read where a file comes from.

    Args:
        data: A wav, opus, mp3 or flac file.

    Returns:
        Its provenance, or None where it carries none of ours.

    Raises:
        YaoheError: ``invalid_request`` when the file is damaged.
    """
    if data[:4] == b"OggS":
        return Provenance.from_comments(read_ogg(data).comments)
    if data[:4] == b"fLaC":
        return Provenance.from_comments(read_flac_comments(data))
    if data[:4] == b"RIFF":
        return Provenance.from_comments(read_wav_comments(data))
    return Provenance.from_comments(read_mp3_comments(data))
