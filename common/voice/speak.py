"""A voice ready to speak: a pack's networks, loaded once, and its voices by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from common.errors import YaoheError, quoted
from common.speech import Pauses
from common.text.symbols import IDS, Symbol
from common.voice import source
from common.voice.accent import Accent
from common.voice.clauses import clause_ends, symbol_spans
from common.voice.pack import Pack
from common.voice.runtime import DEFAULT_THREADS, Session, choose_provider
from common.voice.walk import Networks, Style, check_speed, speak

BASE_MISSING = "base_missing"
"""Reason of a refusal, for programs: what a dialect pack stands on is not here."""
_FIRST_WORD = (Symbol(IDS["a"], 50, 50, 46, 2),)


class Speaker:
    """The voices of one pack; safe to use from several threads.

    Attributes:
        pack: The pack.
        provider: Where its networks run, ``cpu`` or ``cuda``.
        base: Whose networks it speaks with; None where they are its own.
        lexicon: Words that the pack has readings of its own for.
    """

    def __init__(
        self,
        pack: Pack,
        *,
        base: Speaker | None = None,
        provider: str | None = None,
        threads: int = DEFAULT_THREADS,
    ) -> None:
        """Load the networks and speak a first time to nobody.

        Args:
            pack: A checked pack.
            base: For a dialect pack, the pack that it stands on; its networks are
                shared, its provider and threads hold.
            provider: ``cpu`` or ``cuda``; the best the pack and this machine share by
                default.
            threads: Threads inside one synthesis.

        Raises:
            YaoheError: ``pack_invalid`` where the pack has no weights and ``base`` is
                not what it stands on, where its table of contours or its lexicon is
                none, or where the runtime cannot load its weights.
        """
        self.pack = pack
        self.base = base
        self.lexicon = pack.lexicon()
        table = pack.contours()
        self._tables = (
            {name: table.dialects[name] for name in pack.manifest.dialects}
            if table
            else {}
        )
        self._accents = {name: Accent(name, t) for name, t in self._tables.items()}
        if pack.base is None:
            self.provider = provider or choose_provider(tuple(pack.manifest.weights))
            self._networks = self._load(threads)
        else:
            self.base = _require_base(pack, base)
            self.provider, self._networks = self.base.provider, self.base._networks

    def _load(self, threads: int) -> Networks:
        """Load the pack's own networks."""
        pack, manifest = self.pack, self.pack.manifest
        stages = manifest.stages(self.provider)
        if stages is None:
            raise YaoheError("pack_invalid", f"{pack.label} has no weights of its own")

        def load(path: str) -> Session:
            file = pack.directory / path
            return Session(file, provider=self.provider, threads=threads)

        networks = Networks(
            encoder=load(stages.encoder),
            prosody=load(stages.prosody),
            decoder=load(stages.decoder),
            context=max(manifest.context.left, manifest.context.right),
            noise_seed=manifest.noise_seed,
        )
        # The first run allocates and fills tables; no caller should wait for that.
        source.noise_table(manifest.noise_seed)
        slot = next(iter(manifest.voices.values())).speaker
        for _ in speak(networks, _FIRST_WORD, Style(slot)):
            pass
        return networks

    @property
    def networks(self) -> Networks:
        """What it speaks with, for those who measure it."""
        return self._networks

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
        return speak(self._networks, self._spoken(symbols, dialect), style)

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
        return clause_ends(self._networks, self._spoken(symbols, dialect), style)

    def symbol_spans(
        self,
        symbols: Sequence[Symbol],
        *,
        voice: str,
        dialect: str = "zh",
        speed: float = 1.0,
    ) -> NDArray[np.int64]:
        """Say where each symbol of an utterance will stand; nothing is spoken.

        Args:
            symbols: As for :meth:`speak`.
            voice: Likewise.
            dialect: Likewise.
            speed: Likewise.

        Returns:
            ``[symbols, 2]``, first sample and one past the last.

        Raises:
            YaoheError: As :meth:`speak`.
        """
        style = self._style(voice, dialect, speed)
        return symbol_spans(self._networks, self._spoken(symbols, dialect), style)

    def _spoken(self, symbols: Sequence[Symbol], dialect: str) -> Sequence[Symbol]:
        """What the networks are given for a reading's symbols."""
        accent = self._accents.get(dialect)
        return accent.spoken(symbols) if accent else symbols

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
        table = self._tables.get(dialect)
        scale = table.scales.get(voice) if table else None
        return Style(chosen.speaker, dialect, speed, pitch, volume, scale)


def _require_base(pack: Pack, base: Speaker | None) -> Speaker:
    """The base, if it is the one that a dialect pack stands on and fits it."""
    if base is None or base.pack.sha256 != pack.base:
        raise YaoheError(
            "pack_invalid",
            f"{pack.label} stands on pack {str(pack.base)[:12]}, which is not here",
            data={"reason": BASE_MISSING},
        )
    if base.base is not None:
        raise YaoheError(
            "pack_invalid", f"{base.pack.label} has no weights to stand on"
        )
    known = base.pack.manifest.voices
    for name, voice in pack.manifest.voices.items():
        if name not in known or known[name].speaker != voice.speaker:
            raise YaoheError(
                "pack_invalid", f"{base.pack.label} has no such voice {name}"
            )
    return base
