"""The box behind the cloud: ready to finish what the cloud began.

Rules: in the same voice if any pack here has it, else in one that speaks the dialect,
declared; where the cloud reads the text as the box does, exactly from a clause's end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from common.errors import YaoheError
from common.protocol.synthesis import Tier
from common.speech import Pauses, Speech
from common.text.symbols import Symbol
from common.voice.clauses import has_words
from edge.begun import Begun
from edge.cloud_sound import CloudSound
from edge.takeover import Rest, Takeover
from edge.writeback import reads_alike

if TYPE_CHECKING:
    from edge.packs import LoadedPack, Packs
    from edge.stage import Stage
    from edge.turn import Turn


class Standby:
    """Finishes what the cloud began."""

    def __init__(
        self, packs: Packs, stage: Stage, count: Callable[[Tier], None]
    ) -> None:
        """Remember who can.

        Args:
            packs: The voices at hand.
            stage: Where they speak.
            count: Called with the tier of each that finishes.
        """
        self._packs = packs
        self._stage = stage
        self._count = count

    async def behind(self, turn: Turn, speech: Speech) -> None:
        """Put the box behind a speech of the cloud.

        Args:
            turn: The request that the cloud speaks.
            speech: The cloud's speech; its chunks are replaced.
        """
        sound = speech.chunks
        if not isinstance(sound, CloudSound):
            return
        pauses: Pauses = ()
        if speech.pauses is not None and reads_alike(turn, speech):
            pauses = await speech.pauses()
        dialect = speech.receipt.reading.dialect

        async def go_on(first: int) -> Rest | None:
            symbols = turn.read.reading.symbols[first:]
            if not has_words(symbols):
                return None
            return await self._rest(turn, symbols, dialect)

        speech.chunks = Takeover(speech, sound, go_on, pauses)

    async def _rest(
        self, turn: Turn, symbols: Sequence[Symbol], dialect: str
    ) -> Rest | None:
        """Speak some symbols with the first voice that can."""
        error = YaoheError("voice_unavailable", f"no pack here speaks {dialect}")
        for pack, voice in self._candidates(turn.request.voice, dialect):
            listener = self._stage.join(
                f"{turn.utterance} rest {pack.sha256}",
                lambda pack=pack, voice=voice: pack.voice.speak(  # type: ignore[misc]
                    symbols,
                    voice=voice,
                    dialect=dialect,
                    speed=turn.request.speed,
                    pitch=turn.request.pitch,
                    volume=turn.request.volume,
                ),
            )
            try:
                chunks = await Begun.first(listener, None)
            except YaoheError as failure:
                error = failure
                continue
            is_left = pack is self._packs.last(dialect) and (
                pack is not self._packs.active(voice, dialect)
            )
            tier: Tier = "last-resort" if is_left else "edge"
            self._count(tier)
            is_other = voice != turn.request.voice
            return Rest(chunks, tier, voice, voice if is_other else None)
        raise error

    def _candidates(self, voice: str, dialect: str) -> Iterator[tuple[LoadedPack, str]]:
        """Packs that can, and the voice that each would use."""
        active = self._packs.active(voice, dialect)
        if active is not None:
            yield active, voice
        others = [pack for pack in self._packs.loaded if pack is not active]
        for pack in others:
            if pack.can(voice, dialect):
                yield pack, voice
        for pack in others:
            if dialect in pack.voice.dialects and not pack.can(voice, dialect):
                yield pack, pack.voice.voices[0]
