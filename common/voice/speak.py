"""A voice ready to speak: a pack's networks, loaded once, and its voices by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from common.errors import YaoheError, quoted
from common.speech import Pauses
from common.text.symbols import IDS, Symbol
from common.voice import source
from common.voice.clauses import clause_ends
from common.voice.pack import Pack
from common.voice.runtime import DEFAULT_THREADS, Session, choose_provider
from common.voice.walk import Networks, Style, check_speed, speak

_FIRST_WORD = (Symbol(IDS["a"], 50, 50, 46, 2),)


class Speaker:
    """The voices of one pack; safe to use from several threads.

    Attributes:
        pack: The pack.
        provider: Where its networks run, ``cpu`` or ``cuda``.
    """

    def __init__(
        self,
        pack: Pack,
        *,
        provider: str | None = None,
        threads: int = DEFAULT_THREADS,
    ) -> None:
        """Load the networks and speak a first time to nobody.

        Args:
            pack: A checked pack with weights.
            provider: ``cpu`` or ``cuda``; the best the pack and this machine share by
                default.
            threads: Threads inside one synthesis.

        Raises:
            YaoheError: ``pack_invalid`` where the pack has no weights of its own or the
                runtime cannot load them.
        """
        manifest = pack.manifest
        self.pack = pack
        self.provider = provider or choose_provider(tuple(manifest.weights))
        stages = manifest.stages(self.provider)
        if stages is None:
            raise YaoheError("pack_invalid", f"{pack.label} has no weights of its own")

        def load(path: str) -> Session:
            file = pack.directory / path
            return Session(file, provider=self.provider, threads=threads)

        self._networks = Networks(
            encoder=load(stages.encoder),
            prosody=load(stages.prosody),
            decoder=load(stages.decoder),
            context=max(manifest.context.left, manifest.context.right),
            noise_seed=manifest.noise_seed,
        )
        # The first run allocates and fills tables; no caller should wait for that.
        source.noise_table(manifest.noise_seed)
        slot = next(iter(manifest.voices.values())).speaker
        for _ in speak(self._networks, _FIRST_WORD, Style(slot)):
            pass

    @property
    def voices(self) -> tuple[str, ...]:
        """Logical voices, the pack's first one first."""
        return tuple(self.pack.manifest.voices)

    @property
    def dialects(self) -> tuple[str, ...]:
        """Dialects it speaks."""
        return tuple(self.pack.manifest.dialects)

    def speak(
        self,
        symbols: Sequence[Symbol],
        *,
        voice: str,
        dialect: str = "zh",
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 0.0,
    ) -> Iterator[NDArray[np.float32]]:
        """Speak an utterance.

        Args:
            symbols: What to say, any length.
            voice: One of :attr:`voices`.
            dialect: One of :attr:`dialects`.
            speed: 0.25 to 4; 1 is the voice's own.
            pitch: Shift in semitones.
            volume: Gain in decibels.

        Returns:
            Chunks of samples in [-1, 1] at 24 kHz, made as they are asked for; the
            same whatever their cuts, and the same each time.

        Raises:
            YaoheError: ``unknown_voice``, ``unknown_dialect`` or ``invalid_request``,
                at once.
        """
        style = self._style(voice, dialect, speed, pitch, volume)
        return speak(self._networks, symbols, style)

    def clause_ends(
        self,
        symbols: Sequence[Symbol],
        *,
        voice: str,
        dialect: str = "zh",
        speed: float = 1.0,
    ) -> Pauses:
        """Say where the clauses of an utterance will end; nothing is spoken.

        Args:
            symbols: As for :meth:`speak`.
            voice: Likewise.
            dialect: Likewise.
            speed: Likewise.

        Returns:
            Pairs: how many of ``symbols`` end there, and how many samples.

        Raises:
            YaoheError: As :meth:`speak`.
        """
        style = self._style(voice, dialect, speed)
        return clause_ends(self._networks, symbols, style)

    def _style(
        self,
        voice: str,
        dialect: str,
        speed: float,
        pitch: float = 0.0,
        volume: float = 0.0,
    ) -> Style:
        """How to speak, once it is known that this pack can."""
        chosen = self.pack.manifest.voices.get(voice)
        if chosen is None:
            raise YaoheError(
                "unknown_voice", f"no voice {quoted(voice)} here", param="voice"
            )
        if dialect not in self.dialects:
            raise YaoheError(
                "unknown_dialect",
                f"{self.pack.label} does not speak {quoted(dialect)}",
                param="dialect",
            )
        check_speed(speed)
        return Style(chosen.speaker, dialect, speed, pitch, volume)
