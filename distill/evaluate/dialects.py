"""A dialect measured: its tones in the sound, and its segments by a recogniser.

No recogniser at hand knows Chengdu or Hong Kong. Chengdu is therefore read back as
Mandarin, on those words whose segments are the same in both, beside the same voice
speaking the same sentences in Mandarin. For Cantonese only a comparison is possible:
the same recogniser, told that it hears Cantonese, listens to espeak-ng too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from common.text import read
from common.text.mandarin import words_of
from distill.evaluate import syllables, tones
from distill.evaluate.sentences import Studio
from distill.evaluate.systems import PLAIN, Learnt, Manner, System
from distill.judge.score import Score, distance, total, understood

NOT_JUDGED = {
    "sc": "Segments that differ from Mandarin (ng-, ny-, v-, io, ue ...): no recogniser"
    " at hand knows them. Whether a person from Chengdu takes the voice for hers.",
    "gd": "Whether Cantonese is understood: Whisper base has no Cantonese and writes"
    " what a Mandarin ear makes of it, so its error only ranks two voices. Segments one"
    " by one, and whether a person from Hong Kong takes the voice for hers.",
}
"""What could not be judged here, for the report."""
_HANZI = re.compile(r"[\u3400-\u9fff]+")
_TONE = re.compile(r"[0-9]")


def tones_of(
    studio: Studio, student: Learnt, voice: str, sentences: Sequence[str], dialect: str
) -> dict[str, Any]:
    """Listen to the tones of a voice.

    Args:
        studio: Where.
        student: Who.
        voice: In which logical voice.
        sentences: What.
        dialect: ``sc``, ``gd``, or ``zh`` to see how the measure does.

    Returns:
        Correlation, tones told apart, variation, each tone as drawn, lengths.
    """
    said: list[syllables.Spoken] = []
    manner = Manner(dialect)
    for text in sentences:
        symbols = read(text, dialect).symbols
        kept = studio.spoken(student, text, voice, manner)
        spans = student.speaker.symbol_spans(symbols, voice=voice, dialect=dialect)
        hz = studio.hearing.pitch(kept)
        said += syllables.spoken(symbols, spans, hz, dialect)
        studio.advance()
    found = tones.heard(said, dialect)
    lines = tones.drawn(found)
    return {
        "sentences": len(sentences),
        "syllables": len(found.syllables),
        "unjudged": found.unjudged,
        "correlation": round(tones.correlation(found), 4),
        **tones.told_apart(found),
        "step_semitones": round(found.step, 2),
        "fall_semitones_per_s": round(found.fall, 2),
        "variation": tones.variation(found, lines),
        "checked": syllables.checked(said),
        "tones": lines,
    }


def agreeing(text: str) -> list[bool] | None:
    """Say which syllables of a text stand in words that Chengdu segments like Mandarin.

    Args:
        text: The text.

    Returns:
        One answer a syllable; None where characters and syllables are not one to one.
    """
    here, there = (read(text, dialect).syllables for dialect in ("zh", "sc"))
    runs = _HANZI.findall(read(text).spoken)
    words = [word for run in runs for word in words_of(run)]
    if len(here) != len(there) or len(here) != sum(len(word) for word in words):
        return None
    same = [
        _TONE.sub("", a) == _TONE.sub("", b) for a, b in zip(here, there, strict=True)
    ]
    answers: list[bool] = []
    for word in words:
        part = same[len(answers) : len(answers) + len(word)]
        answers += [all(part)] * len(word)
    return answers


def chengdu_segments(
    studio: Studio,
    student: Learnt,
    mandarin: Learnt,
    voice: str,
    sentences: Sequence[str],
) -> dict[str, Any]:
    """Read Chengdu back as Mandarin, on words whose segments are the same.

    Args:
        studio: Where.
        student: Speaks ``sc``.
        mandarin: The same voice, speaks ``zh``.
        voice: The logical voice.
        sentences: What.

    Returns:
        Syllables of such words, and their error in both.
    """
    lost = {"sc": 0, "zh": 0}
    judged = left_out = 0
    for text in sentences:
        agree = agreeing(text)
        if agree is None:
            left_out += 1
            continue
        judged += sum(agree)
        for system, dialect in ((student, "sc"), (mandarin, "zh")):
            kept = studio.spoken(system, text, voice, Manner(dialect))
            right = understood(text, studio.hearing.text(kept))
            lost[dialect] += sum(a and not b for a, b in zip(agree, right, strict=True))
    return {
        "syllables": judged,
        "sentences_left_out": left_out,
        "syllable_error": round(lost["sc"] / max(1, judged), 4),
        "mandarin_syllable_error": round(lost["zh"] / max(1, judged), 4),
    }


def cantonese_segments(
    studio: Studio,
    systems: Sequence[tuple[System, Manner]],
    voice: str,
    sentences: Sequence[str],
) -> dict[str, float]:
    """Let the recogniser write down Cantonese, as jyutping without tones.

    Args:
        studio: Where.
        systems: Who speaks, and how.
        voice: The logical voice.
        sentences: What.

    Returns:
        Syllable error by system.
    """
    errors = {}
    for system, manner in systems:
        scores = []
        for text in sentences:
            kept = studio.spoken(system, text, voice, manner)
            wanted, found = (
                [_TONE.sub("", syllable) for syllable in read(side, "gd").syllables]
                for side in (text, studio.hearing.text(kept, "yue"))
            )
            scores.append(Score(distance(wanted, found), len(wanted)))
        errors[system.name] = round(total(scores).rate, 4)
    return errors


def evaluate(
    studio: Studio,
    student: Learnt,
    voices: Sequence[str],
    sentences: Sequence[str],
    dialect: str,
    peer: System | None = None,
) -> dict[str, Any]:
    """Measure a dialect.

    Args:
        studio: Where.
        student: A voice that speaks it.
        voices: Its logical voices.
        sentences: Held sentences of the dialect.
        dialect: ``sc`` or ``gd``.
        peer: Another voice that speaks Cantonese.

    Returns:
        ``tones`` and ``segments`` by voice, and what could not be judged.
    """
    # A dialect pack's weights speak Mandarin as well.
    base = student.speaker.base
    mandarin = Learnt(base) if base else student
    segments: dict[str, Any] = {}
    for voice in voices:
        if dialect == "sc":
            segments[voice] = chengdu_segments(
                studio, student, mandarin, voice, sentences
            )
        else:
            systems: list[tuple[System, Manner]] = [(student, Manner(dialect))]
            if peer is not None:
                systems.append((peer, PLAIN))
            segments[voice] = cantonese_segments(studio, systems, voice, sentences)
    return {
        "dialect": dialect,
        "tones": {
            voice: tones_of(studio, student, voice, sentences, dialect)
            for voice in voices
        },
        "segments": segments,
        "not_judged": NOT_JUDGED[dialect],
    }
