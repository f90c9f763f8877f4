"""Who speaks: cache, else the active pack, else the cloud, else what is left, declared.

Only this module knows the order. Rules:

* A source that cannot, is not good enough or fails before its first sound is passed
  over, and the reason goes along to whoever speaks in the end.
* What was not asked for is never spoken silently: another dialect needs the caller's
  permission, another voice is declared.
* Only utterances that came to their end are kept.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from common.audio.pcm import Pcm
from common.audio.provenance import AigcLabel, Provenance
from common.errors import YaoheError
from common.protocol.synthesis import (
    DEFAULT_DIALECT,
    DEFAULT_MODEL,
    DEFAULT_VOICE,
    SpeechRequest,
    Tier,
    unknown_model,
    unknown_voice,
)
from common.speech import Speech, require_speakable
from common.text.carry import carried
from common.text.receipt import Receipt
from edge.begun import Begun
from edge.keeper import Finished
from edge.standby import Standby
from edge.turn import Turn, may_be_mandarin
from edge.writeback import QUALITY as STREAM_QUALITY
from edge.writeback import WriteBack, may_be_kept

if TYPE_CHECKING:
    from edge.cache import Cache
    from edge.cloud_stream import CloudStream
    from edge.hot import Hot
    from edge.keeper import Keeper
    from edge.packs import LoadedPack, Packs
    from edge.readings import Readings
    from edge.settings import PolicySettings
    from edge.stage import Stage

LOGICAL_VOICES = (DEFAULT_VOICE, "man")
"""Voices that exist in every chain, whether or not this box has them."""
LAST_CHANCE_MS = 10_000
"""What the cloud gets to its first sound when nothing else could speak."""
LAST_RESORT: Tier = "last-resort"

log = logging.getLogger(__name__)


class Policy:
    """Chooses who speaks."""

    def __init__(
        self,
        *,
        packs: Packs,
        cache: Cache | None,
        keeper: Keeper | None,
        hot: Hot,
        stage: Stage,
        readings: Readings,
        settings: PolicySettings,
        label: AigcLabel,
        cloud: CloudStream | None = None,
        count_takeover: Callable[[Tier], None] = lambda _: None,
    ) -> None:
        """Put the sources together.

        Args:
            packs: The voices at hand.
            cache: What was said before; None keeps and finds nothing.
            keeper: Who writes to it.
            hot: What of it is ready in memory.
            stage: Where packs speak.
            readings: How texts are read.
            settings: Mode, deadline and least quality.
            label: The AI-content label of new renditions.
            cloud: The cloud; None where the box has none.
            count_takeover: Called with the tier that finishes what the cloud began.
        """
        self._packs = packs
        self._cache = cache
        self._keeper = keeper
        self._hot = hot
        self._stage = stage
        self._readings = readings
        self._settings = settings
        self._label = label
        self._cloud = cloud
        self._standby = Standby(packs, stage, count_takeover)

    @property
    def repertoire(self) -> dict[str, tuple[str, ...]]:
        """Voices that can be asked for, and the dialects that each speaks."""
        known = dict(self._packs.repertoire)
        cloud = self._cloud.repertoire if self._cloud else {}
        for voice, dialects in cloud.items():
            known[voice] = tuple(dict.fromkeys((*known.get(voice, ()), *dialects)))
        return known

    async def speak(self, request: SpeechRequest, utterance: str) -> Speech:
        """Speak a request.

        Args:
            request: A checked request.
            utterance: Its id.

        Returns:
            Speech whose first sound is there; whoever takes its chunks closes them.

        Raises:
            YaoheError: Why there is no sound.
        """
        began = time.monotonic()
        turn = await self._open(self._known(request), utterance, began)
        if turn.request.dialect != request.dialect:
            turn.substituted = turn.request.dialect
        speech = await self._spoken(turn)
        if speech is None and turn.is_mandarin_allowed:
            turn = await self._instead(turn, dialect=DEFAULT_DIALECT)
            speech = await self._spoken(turn)
        if speech is None:
            speech = await self._last_resort(turn)
        speech.first_audio_ms = (time.monotonic() - began) * 1000
        return speech

    async def _spoken(self, turn: Turn) -> Speech | None:
        """Cache, then the active pack and the cloud in the order of the mode."""
        if self._settings.mode == "cloud":
            return (
                await self._cached(turn)
                or await self._from_cloud(turn)
                or await self._from_active_pack(turn)
            )
        return (
            await self._cached(turn)
            or await self._from_active_pack(turn)
            or await self._from_cloud(turn)
        )

    async def _cached(self, turn: Turn) -> Speech | None:
        if self._cache is None:
            return None
        asked = turn.request
        pack = self._packs.active(asked.voice, turn.read.reading.dialect)
        hit = self._cache.best(
            turn.key,
            pack_sha256=pack.sha256 if pack else "",
            min_quality=self._settings.min_quality,
            streamed=self._is_clouds_turn(pack),
        )
        if hit is None:
            return None
        needs_pcm = asked.response_format != "opus"
        rendition = hit.rendition
        try:
            whole = await self._hot.whole(
                hit.sha256, rendition.master, needs_pcm=needs_pcm
            )
        except YaoheError:
            log.exception("a cached master cannot be played", extra={"row": hit.row})
            return None
        self._cache.count_play(hit.row)
        said = whole.opus.comments if whole.opus else ()
        return Speech(
            turn.utterance,
            Receipt(turn.utterance, turn.read.reading, rendition.enforced),
            tier="cache",
            reason=turn.reason(f"cached rendition by {rendition.engine}"),
            provenance=Provenance.from_comments(said)
            or rendition.provenance(self._label),
            whole=whole,
            substituted=turn.substituted,
        )

    def _is_clouds_turn(self, pack: LoadedPack | None) -> bool:
        """Whether the cloud comes before the pack, so that its recording does too."""
        if self._settings.mode == "cloud":
            return True
        return pack is None or pack.quality < self._settings.min_quality

    async def _from_active_pack(self, turn: Turn) -> Speech | None:
        voice, dialect = turn.request.voice, turn.read.reading.dialect
        pack = self._packs.active(voice, dialect)
        if pack is None:
            turn.passed.append(f"no pack speaks {dialect} as {voice}")
            return None
        if pack.quality < self._settings.min_quality:
            turn.passed.append(f"{pack.name} is below the least quality")
            return None
        return await self._from_pack(turn, pack, "edge", "the active pack can")

    async def _from_cloud(self, turn: Turn) -> Speech | None:
        if self._settings.mode == "local":
            turn.passed.append("the mode is local")
            return None
        if self._cloud is None or not self._cloud.is_up:
            turn.passed.append("no cloud")
            return None
        left_s = self._cloud_patience_s(turn)
        if left_s <= 0:
            turn.passed.append("no time left for the cloud")
            return None
        try:
            asked = _with_own_words(turn)
            speech = await self._cloud.speak(asked, turn.utterance, left_s)
        except YaoheError as error:
            turn.passed.append(f"the cloud answered {error.code}")
            turn.error = error
            return None
        speech.reason = turn.reason("the cloud can")
        speech.substituted = turn.substituted or speech.substituted
        await self._standby.behind(turn, speech)
        self._write_back(turn, speech)
        return speech

    def _write_back(self, turn: Turn, speech: Speech) -> None:
        """Keep what the cloud says, once it has said all of it."""
        keeper = self._keeper
        if keeper is None or speech.chunks is None or not may_be_kept(turn, speech):
            return
        finished = Finished(
            *(turn.key, turn.request, turn.read, speech.provenance),
            quality=STREAM_QUALITY,
            utterance=turn.utterance,
            origin="stream",
        )
        began = time.monotonic()

        def keep(pcm: Pcm) -> None:
            keeper.keep(finished, pcm, time.monotonic() - began)

        speech.chunks = WriteBack(speech, keep)

    def _cloud_patience_s(self, turn: Turn) -> float:
        """Seconds that the cloud has left for its first sound.

        The box's own deadline is there to let the box speak instead; where nothing on
        the box speaks the dialect, late is better than never.
        """
        deadline_ms = turn.request.deadline_ms
        if deadline_ms is None:
            dialect = turn.read.reading.dialect
            has_other = any(dialect in p.voice.dialects for p in self._packs.loaded)
            deadline_ms = self._settings.deadline_ms if has_other else LAST_CHANCE_MS
        return deadline_ms / 1000 - (time.monotonic() - turn.began)

    async def _last_resort(self, turn: Turn) -> Speech:
        """The active pack whatever its rank, else the starter, else the error.

        The starter may speak in a voice of its own, declared.
        """
        active = self._packs.active(turn.request.voice, turn.read.reading.dialect)
        is_low = active is not None and active.quality < self._settings.min_quality
        starter = self._packs.last(turn.read.reading.dialect)
        if active is not None and is_low and active is not starter:
            speech = await self._from_pack(
                turn, active, "edge", "nothing better is left"
            )
            if speech is not None:
                return speech
        if starter is not None:
            voice, dialect = turn.request.voice, turn.read.reading.dialect
            if not starter.can(voice, dialect) and dialect in starter.voice.dialects:
                turn = await self._instead(turn, voice=starter.voice.voices[0])
            is_able = starter.can(turn.request.voice, dialect)
            if is_able and starter.sha256 not in turn.failed:
                speech = await self._cached(turn) or await self._from_pack(
                    turn, starter, LAST_RESORT, "the starter pack is left"
                )
                if speech is not None:
                    return speech
        raise turn.error or YaoheError(
            "voice_unavailable", f"nobody can speak this: {'; '.join(turn.passed)}"
        )

    async def _from_pack(
        self, turn: Turn, pack: LoadedPack, tier: Tier, chosen: str
    ) -> Speech | None:
        """Let a pack begin; None, with the reason noted, where it cannot."""
        asked, reading = turn.request, turn.read.reading
        provenance = pack.provenance(self._label)
        finished = Finished(
            turn.key, asked, turn.read, provenance, pack.quality, turn.utterance
        )
        keeper = self._keeper
        try:
            listener = self._stage.join(
                f"{turn.key} {pack.sha256}",
                lambda: pack.voice.speak(
                    reading.symbols,
                    voice=asked.voice,
                    dialect=reading.dialect,
                    speed=asked.speed,
                    pitch=asked.pitch,
                    volume=asked.volume,
                ),
                (
                    None
                    if keeper is None
                    else lambda pcm, busy_s: keeper.keep(finished, pcm, busy_s)
                ),
            )
            begun = await Begun.first(listener, turn.patience_s())
        except YaoheError as error:
            turn.passed.append(f"{pack.name}: {error.message}")
            turn.failed.add(pack.sha256)
            turn.error = error
            return None
        return Speech(
            turn.utterance,
            Receipt(turn.utterance, reading, enforced=True),
            tier=tier,
            reason=turn.reason(chosen),
            provenance=provenance,
            chunks=begun,
            substituted=turn.substituted,
        )

    async def _open(self, request: SpeechRequest, utterance: str, began: float) -> Turn:
        """Read a request and refuse what must not be spoken."""
        read = await self._readings.read(
            request.input,
            request.dialect,
            context=request.context,
            ssml=request.ssml,
        )
        require_speakable(read.reading, request)
        return Turn(request, utterance, read, read.key(request), began)

    async def _instead(self, turn: Turn, **changes: str) -> Turn:
        """The same turn with another voice or dialect, declared."""
        request = turn.request.model_copy(update=changes)
        instead = await self._open(request, turn.utterance, turn.began)
        stands_in = (turn.substituted, *changes.values())
        instead.substituted = ",".join(name for name in stands_in if name)
        instead.passed, instead.failed = turn.passed, turn.failed
        instead.error = turn.error
        return instead

    def _known(self, request: SpeechRequest) -> SpeechRequest:
        """The request, if somebody here might speak it; in Mandarin where it may be."""
        if request.model != DEFAULT_MODEL:
            raise unknown_model(request.model)
        repertoire = self.repertoire
        if request.voice not in (*LOGICAL_VOICES, *repertoire):
            raise unknown_voice(request.voice)
        spoken = {one for dialects in repertoire.values() for one in dialects}
        if not spoken:
            raise YaoheError("voice_unavailable", "this box has no voice")
        if request.dialect in spoken:
            return request
        if may_be_mandarin(request):
            return request.model_copy(update={"dialect": DEFAULT_DIALECT})
        raise YaoheError(
            "voice_unavailable",
            f"nobody here speaks {request.dialect!r}; fallback=mandarin would let "
            "Mandarin stand in",
            param="dialect",
        )


def _with_own_words(turn: Turn) -> SpeechRequest:
    """The request for the cloud, which does not know the shop's lexicon."""
    request = turn.request
    if not turn.read.lexicon_sha256:
        return request
    text = carried(turn.read.reading, ssml=request.ssml)
    return request.model_copy(update={"input": text})
