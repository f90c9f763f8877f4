"""From symbols to sound: the walk through a pack's networks.

A sentence's durations and pitch are settled first, for the whole sentence; then the
decoder runs over chunks with as much context as it can see, so that the sound does not
depend on where the chunks were cut. Speed, pitch and volume are edits of durations,
pitch and masks, and what is faster than the networks speak well is stretched; an
explicit break is a pause of exactly its length.

No state is kept between calls, so one voice may be used from several threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from common.errors import YaoheError
from common.protocol.contours import Scale
from common.text.symbols import (
    BOS,
    BREAK,
    DIALECTS,
    EOS,
    IDS,
    SPEED_ONE,
    Symbol,
    tone_inputs,
)
from common.voice import source, stretch
from common.voice.hold import hold
from common.voice.sentences import sentences_of

Floats = NDArray[np.float32]

FRAME_MS = 1000 * source.HOP / source.SAMPLE_RATE
"""Length of a frame: 12.5 ms."""
FIRST_CHUNK = 24
"""Frames of the first chunk (0.3 s): small, so that sound starts early."""
NEXT_CHUNK = 240
"""Frames of every later chunk (3 s): large, so that little context is run twice."""
PITCH_REFERENCE_HZ = 200.0
PITCH_LIMITS_HZ = (50.0, 700.0)
SPEEDS = (0.25, 4.0)
"""Slowest and fastest speed a caller may ask for."""
LEAD_FRAMES, TAIL_FRAMES = 4, 6
"""Silence left before and after a sentence (50 and 75 ms)."""
MIN_SYMBOL_FRAMES = 1.2
"""The networks never speak a shorter symbol (15 ms)."""

_BREAK, _COMMA = IDS[BREAK], IDS[","]
_EDGES = {IDS[BOS]: LEAD_FRAMES, IDS[EOS]: TAIL_FRAMES}


class Graph(Protocol):
    """A loaded network."""

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> tuple[Floats, ...]:
        """Run it on arrays by input name."""


@dataclass(frozen=True)
class Networks:
    """The three networks of a voice, and what the signal half needs to know.

    Attributes:
        encoder: ``symbols, tones, speaker, dialect`` to ``hidden, lengths``.
        prosody: ``hidden, positions`` to ``pitch, voicing``.
        decoder: ``hidden, positions, pitch`` to ``harmonic, noise``.
        context: Frames to each side that the decoder can see.
        noise_seed: Seed of the noise table.
    """

    encoder: Graph
    prosody: Graph
    decoder: Graph
    context: int
    noise_seed: int


@dataclass(frozen=True)
class Style:
    """How an utterance is to be spoken.

    Attributes:
        speaker: Speaker slot.
        dialect: Name of the dialect.
        speed: 1.0 is the voice's own.
        pitch: Shift in semitones.
        volume: Gain in decibels.
        scale: The line to which the contours are held; None leaves them to the weights.
    """

    speaker: int
    dialect: str = "zh"
    speed: float = 1.0
    pitch: float = 0.0
    volume: float = 0.0
    scale: Scale | None = None


@dataclass(frozen=True)
class Plan:
    """A sentence whose timing and pitch are settled.

    Attributes:
        hidden: ``[own, width]``, in the networks' frames.
        positions: ``[own, 4]``.
        pitch: ``[own, 2]``, octaves (0 where unvoiced) and voicing.
        gain: ``[frames]``, linear; 0 inside breaks.
        source: The harmonic source with ``EDGE`` zeros at both ends.
        places: ``[frames * SLICES]``, where the slices of the sound lie among those of
            the networks; None where they are the same.
    """

    hidden: Floats
    positions: Floats
    pitch: Floats
    gain: Floats
    source: Floats
    places: stretch.Clock | None = None

    @property
    def frames(self) -> int:
        """Length in frames of the sound."""
        return len(self.gain)


def check_speed(speed: float) -> None:
    """Refuse a speed outside the limits.

    Args:
        speed: As asked for.

    Raises:
        YaoheError: ``invalid_request``.
    """
    low, high = SPEEDS
    if not low <= speed <= high:
        raise YaoheError(
            "invalid_request", f"speed must be from {low} to {high}", param="speed"
        )


def frame_counts(symbols: Sequence[Symbol], lengths: Floats, speed: float) -> Floats:
    """Whole frames of each symbol in the sound.

    Args:
        symbols: The sentence.
        lengths: ``[symbols]``, natural logarithm of frames + 1.
        speed: Of the whole utterance.

    Returns:
        ``[symbols]`` whole numbers; rounding errors do not add up.
    """
    _, heard = _ends(symbols, lengths, speed)
    return _whole(heard).astype(np.float32)


def _ends(
    symbols: Sequence[Symbol], lengths: Floats, speed: float
) -> tuple[stretch.Clock, stretch.Clock]:
    """Where each symbol ends for the networks, and where in the sound, in frames."""
    known = stretch.known(speed)
    own = np.maximum(np.expm1(lengths.astype(np.float64)), 0.0)
    heard = np.empty_like(own)
    for index, symbol in enumerate(symbols):
        if symbol.id == _BREAK:
            own[index] = heard[index] = symbol.ms / FRAME_MS
        elif symbol.id in _EDGES:
            own[index] = heard[index] = min(own[index], _EDGES[symbol.id])
        else:
            faster = known * symbol.speed / SPEED_ONE
            own[index] = max(own[index] / faster, MIN_SYMBOL_FRAMES)
            heard[index] = own[index] * known / speed
    return np.cumsum(own), np.cumsum(heard)


def _whole(ends: stretch.Clock) -> NDArray[np.int64]:
    """Whole frames of symbols that end somewhere."""
    return np.diff(np.round(ends), prepend=0.0).astype(np.int64)


def _positions(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """Symbol of each frame, and where the frame lies in it."""
    index = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    length = counts[index].astype(np.float32)
    passed = (np.arange(len(index)) - starts[index]).astype(np.float32) + np.float32(
        0.5
    )
    tenth = np.float32(8.0)  # frames in a tenth of a second
    columns = [
        passed / tenth,
        (length - passed) / tenth,
        passed / length,
        length / tenth,
    ]
    return index, np.stack(columns, -1)


def _encode(
    networks: Networks, symbols: Sequence[Symbol], style: Style
) -> tuple[Floats, Floats]:
    """Vectors of the symbols, and the logarithms of their lengths."""
    # The networks know a break as a comma; its length and silence are set here.
    spoken = [_COMMA if symbol.id == _BREAK else symbol.id for symbol in symbols]
    hidden, lengths = networks.encoder.run(
        {
            "symbols": np.array([spoken], np.int64),
            "tones": np.array([[tone_inputs(s) for s in symbols]], np.float32),
            "speaker": np.array([style.speaker], np.int64),
            "dialect": np.array([DIALECTS.index(style.dialect)], np.int64),
        }
    )
    return hidden, lengths[0]


def timing(
    networks: Networks, symbols: Sequence[Symbol], style: Style
) -> tuple[Floats, NDArray[np.int64]]:
    """Settle how long each symbol of a sentence lasts.

    Args:
        networks: The voice.
        symbols: The sentence with start and end marks.
        style: How to speak it.

    Returns:
        ``[1, symbols, width]`` for the other networks, and ``[symbols]`` frames.
    """
    hidden, lengths = _encode(networks, symbols, style)
    return hidden, frame_counts(symbols, lengths, style.speed).astype(np.int64)


def plan(networks: Networks, symbols: Sequence[Symbol], style: Style) -> Plan:
    """Settle timing and pitch of a sentence.

    Args:
        networks: The voice.
        symbols: The sentence with start and end marks.
        style: How to speak it.

    Returns:
        The plan.
    """
    hidden, lengths = _encode(networks, symbols, style)
    own, heard = _ends(symbols, lengths, style.speed)
    is_known = stretch.known(style.speed) == style.speed
    ends = None if is_known else (own, heard)
    return plan_with(networks, symbols, style, hidden, _whole(own), ends)


def plan_with(
    networks: Networks,
    symbols: Sequence[Symbol],
    style: Style,
    hidden: Floats,
    counts: NDArray[np.int64],
    ends: tuple[stretch.Clock, stretch.Clock] | None = None,
) -> Plan:
    """Settle the pitch of a sentence whose timing is given.

    Args:
        networks: The voice.
        symbols: The sentence with start and end marks.
        style: How to speak it.
        hidden: ``[1, symbols, width]`` from :func:`timing`.
        counts: ``[symbols]`` frames, the voice's own or another's.
        ends: ``[symbols]`` twice, where each symbol ends in those frames and where it
            is to end in the sound; None where that is the same.

    Returns:
        The plan.
    """
    index, positions = _positions(counts)
    spread = hidden[0][index]
    octaves, voicing = networks.prosody.run(
        {"hidden": spread[None], "positions": positions[None]}
    )
    voiced = (voicing[0] > 0).astype(np.float32)
    tune = octaves[0]
    if style.scale is not None:
        tune = hold(symbols, style.dialect, counts, tune, voiced, style.scale)
    cents = np.array([symbol.pitch for symbol in symbols], np.float32)[index]
    shifted = tune + np.float32(style.pitch / 12) + cents / np.float32(1200)
    low, high = (np.log2(limit / PITCH_REFERENCE_HZ) for limit in PITCH_LIMITS_HZ)
    shifted = np.clip(shifted, np.float32(low), np.float32(high))
    pitch = np.stack([shifted * voiced, voiced], -1)
    places = None
    if ends is not None:
        index = np.repeat(np.arange(len(symbols)), _whole(ends[1]))
        centres = stretch.clock(*ends, len(index), 1)
        shifted, voiced = (stretch.between(v, centres) for v in (shifted, voiced))
        places = stretch.clock(*ends, len(index), source.SLICES)
    hz = np.float32(PITCH_REFERENCE_HZ) * np.exp2(shifted)
    gain_db = np.array([symbol.volume / 100 for symbol in symbols], np.float32)[index]
    gain = np.power(np.float32(10), (gain_db + np.float32(style.volume)) / 20)
    is_break = np.array([symbol.id == _BREAK for symbol in symbols])[index]
    train = source.pulse_train(hz, voiced)
    return Plan(
        hidden=spread,
        positions=positions,
        pitch=pitch,
        gain=np.where(is_break, np.float32(0), gain).astype(np.float32),
        source=np.pad(train, source.EDGE),
        places=places,
    )


def render(networks: Networks, settled: Plan, first: int, last: int) -> Floats:
    """Make the sound of some frames of a sentence.

    Args:
        networks: The voice.
        settled: The plan.
        first: First frame.
        last: One past the last frame.

    Returns:
        ``[(last - first) * 300]`` samples, the same whatever the cuts.
    """
    begin = max(0, first - source.REACH)
    end = min(settled.frames, last + source.REACH)
    ends = begin * source.SLICES, end * source.SLICES
    harmonic, noise = _masks(networks, settled, *ends)
    hiss = source.noise_table(networks.noise_seed)
    rows = np.arange(*ends) % source.NOISE_SLICES
    spectra = source.spectrum(settled.source, *ends) * harmonic
    spectra += hiss[rows] * noise
    spectra *= np.repeat(settled.gain[begin:end], source.SLICES)[:, None]
    sound = source.overlap_add(spectra)
    skip = (first - begin) * source.HOP
    return sound[skip : skip + (last - first) * source.HOP]


def _masks(
    networks: Networks, settled: Plan, first: int, last: int
) -> tuple[Floats, Floats]:
    """Harmonic and noise masks of slices of the sound, ``[last - first, 301]`` each."""
    places, own = settled.places, len(settled.hidden)
    if places is None:
        begin, end = first // source.SLICES, last // source.SLICES
    else:
        begin, end = stretch.span(places[first:last], own)
    left, right = max(0, begin - networks.context), min(own, end + networks.context)
    harmonic, noise = networks.decoder.run(
        {
            "hidden": settled.hidden[None, left:right],
            "positions": settled.positions[None, left:right],
            "pitch": settled.pitch[None, left:right],
        }
    )
    inner = slice(begin - left, end - left)
    masks = _slices(harmonic[0, inner]), _slices(noise[0, inner])
    if places is None:
        return masks
    local = places[first:last] - begin * source.SLICES
    return stretch.between(masks[0], local), stretch.between(masks[1], local)


def _slices(masks: Floats) -> Floats:
    """Masks of frames, ``[frames, 602]``, as masks of slices, ``[slices, 301]``."""
    if masks.shape[-1] != source.SLICES * source.BINS:
        raise YaoheError("pack_invalid", "its decoder is for another vocoder")
    return masks.reshape(-1, source.BINS)


def speak(
    networks: Networks,
    symbols: Sequence[Symbol],
    style: Style,
    *,
    chunks: tuple[int, int] = (FIRST_CHUNK, NEXT_CHUNK),
) -> Iterator[Floats]:
    """Speak an utterance.

    Args:
        networks: The voice.
        symbols: What to say, any length.
        style: How.
        chunks: Frames of each sentence's first chunk and of its later ones.

    Yields:
        Samples in [-1, 1] at 24 kHz.

    Raises:
        YaoheError: ``invalid_request`` where the speed is out of its limits.
    """
    check_speed(style.speed)
    for sentence in sentences_of(symbols):
        settled = plan(networks, sentence, style)
        first, size = 0, chunks[0]
        while first < settled.frames:
            last = min(first + size, settled.frames)
            yield np.clip(render(networks, settled, first, last), -1.0, 1.0)
            first, size = last, chunks[1]
