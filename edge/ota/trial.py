"""The trial of a pack: it is loaded and speaks, to nobody, before it may speak."""

from __future__ import annotations

from pathlib import Path

from common.errors import YaoheError
from common.voice.bases import Bases
from common.voice.golden import check_golden, measure
from common.voice.pack import load_pack
from edge.ota.refusal import Refused
from edge.packs import LoadedPack

SENTENCE = "今日特价，每斤九块九。"
"""Spoken in every voice and dialect, whatever the pack's own phrases are."""


def try_out(directory: Path, bases: Bases) -> LoadedPack:
    """Load a pack and hear it.

    Args:
        directory: The pack's folder, its origin checked.
        bases: Loads it, with what it stands on.

    Returns:
        The pack, ready to speak.

    Raises:
        Refused: ``trial_failed`` with what it did.
    """
    try:
        pack = load_pack(directory, trusted=True)
        speaker = bases.speaker(pack)
        check_golden(speaker)
        for voice in speaker.voices:
            for dialect in speaker.dialects:
                measure(speaker, SENTENCE, voice, dialect)
    except YaoheError as error:
        raise Refused("trial_failed", error.message) from None
    return LoadedPack.of(speaker)
