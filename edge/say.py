"""One utterance into a file, without any server: ``yaohe-edge say``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.audio.containers import MEDIA_TYPES
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.errors import YaoheError, quoted
from common.files import write_atomic
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.responses import speech_answer
from common.speech import Speech, new_utterance
from edge.account import Account
from edge.packs import Packs, load
from edge.service import OPEN_TIMEOUT_S, Service
from edge.settings import EdgeSettings

ENDINGS = {"ogg": "opus"}
"""Endings of files that are not the name of their format."""


@dataclass(frozen=True)
class Told:
    """What was said.

    Attributes:
        account: The receipt, with who spoke it and why.
        line: One line for a person.
    """

    account: Account
    line: str


def say_to_file(
    settings: EdgeSettings,
    values: Mapping[str, object],
    out: Path,
    *,
    pack: Path | None = None,
    is_unsigned: bool = False,
) -> Told:
    """Say a text into a file.

    Args:
        settings: What the box is told.
        values: A speech request without its format.
        out: The file; its ending names the format.
        pack: Folder of a pack to speak with; nothing is kept then.
        is_unsigned: Whether that pack needs no signature.

    Returns:
        What was said.

    Raises:
        YaoheError: Why there is no sound.
        OSError: The file cannot be written.
    """
    request = parse_speech({**values, "response_format": _format(out)})
    if not out.parent.is_dir():
        raise YaoheError("invalid_request", f"no folder {out.parent}", param="out")
    if pack is None:
        return asyncio.run(_say(settings, request, out, None))
    loaded = load(pack, is_trusted=is_unsigned)
    if request.voice not in loaded.voice.voices:
        request = request.model_copy(update={"voice": loaded.voice.voices[0]})
    return asyncio.run(_say(settings, request, out, Packs((loaded,), None)))


def _format(out: Path) -> str:
    ending = out.suffix.lower().lstrip(".")
    name = ENDINGS.get(ending, ending)
    if name not in MEDIA_TYPES:
        raise YaoheError(
            "unsupported_format",
            f"{quoted(out.name)} names no format; end it in .{' .'.join(MEDIA_TYPES)}",
            param="out",
        )
    return name


async def _say(
    settings: EdgeSettings, request: SpeechRequest, out: Path, packs: Packs | None
) -> Told:
    service = Service(settings, packs=packs, keeps=packs is None)
    await service.start()
    try:
        if service.cache is not None:
            await asyncio.to_thread(service.cache.store.wait_open, OPEN_TIMEOUT_S)
        await service.loaded()
        if service.failure is not None:
            raise YaoheError("voice_unavailable", service.failure)
        began = time.monotonic()
        speech = await service.speak(request, new_utterance())
        counted = _Counted(speech)
        answer = await speech_answer(request, speech)
        if isinstance(answer.body, bytes):
            sound = answer.body
        else:
            sound = b"".join([piece async for piece in answer.body])
        await answer.aclose()
        took = time.monotonic() - began
        await asyncio.to_thread(write_atomic, out, sound)
    finally:
        await service.stop()
    return Told(Account.of(speech), _line(speech, out, counted.seconds, took))


class _Counted:
    """How long a speech is, whole or as it passes by."""

    def __init__(self, speech: Speech) -> None:
        self._samples = 0
        self._whole = speech.whole
        if speech.chunks is not None:
            speech.chunks = self._through(speech.chunks)

    @property
    def seconds(self) -> float:
        if self._whole is not None:
            return self._whole.duration_s
        return self._samples / SAMPLE_RATE

    async def _through(self, chunks: AsyncIterator[Pcm]) -> AsyncIterator[Pcm]:
        async for chunk in chunks:
            self._samples += chunk.size
            yield chunk


def _line(speech: Speech, out: Path, seconds: float, took_s: float) -> str:
    instead = f", {speech.substituted} instead" if speech.substituted else ""
    return (
        f"{out}: {seconds:.2f} s, tier {speech.tier}{instead} ({speech.reason}), "
        f"first audio {speech.first_audio_ms or 0:.0f} ms, RTF {took_s / seconds:.3f}"
    )
