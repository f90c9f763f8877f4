"""One utterance into a file, without any server: ``yaohe-edge say``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common.audio.containers import MEDIA_TYPES, encode_whole
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError, quoted
from common.files import write_atomic
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.speech import Speech, Whole, new_utterance
from common.voice.bases import Bases, among
from edge.account import Account
from edge.ota.keys import trusted_keyring
from edge.packs import Packs, load, own_directories
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
    bases = Bases(among(own_directories(settings.pack)))
    if is_unsigned:
        loaded = replace(load(pack, bases, is_trusted=True), is_verified=False)
    else:
        keyring = trusted_keyring(settings.data)
        loaded = load(pack, bases, is_trusted=False, keyring=keyring)
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
            await asyncio.to_thread(service.cache.store.wait_settled, OPEN_TIMEOUT_S)
        await service.loaded()
        if service.failure is not None:
            raise YaoheError("voice_unavailable", service.failure)
        began = time.monotonic()
        speech = await service.speak(request, new_utterance())
        whole = await _whole(speech)
        took_s = time.monotonic() - began
        provenance = speech.provenance.with_id(speech.utterance)
        # A file is finished, so its header says how long it is.
        sound = encode_whole(request.response_format, whole, provenance)
        await asyncio.to_thread(write_atomic, out, sound)
    finally:
        await service.stop()
    return Told(Account.of(speech), _line(speech, out, whole.duration_s, took_s))


async def _whole(speech: Speech) -> Whole:
    """The speech from beginning to end."""
    if speech.whole is not None:
        return speech.whole
    if speech.chunks is None:
        raise YaoheError("internal_error", "the speech has no sound")
    pcm = np.concatenate([chunk async for chunk in speech.chunks])
    return Whole(pcm.size / SAMPLE_RATE, pcm=pcm)


def _line(speech: Speech, out: Path, seconds: float, took_s: float) -> str:
    instead = f", {speech.substituted} instead" if speech.substituted else ""
    return (
        f"{out}: {seconds:.2f} s, tier {speech.tier}{instead} ({speech.reason}), "
        f"first audio {speech.first_audio_ms or 0:.0f} ms, RTF {took_s / seconds:.3f}"
    )
