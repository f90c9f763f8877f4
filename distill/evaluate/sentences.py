"""What is understood of held sentences, and how good they sound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import soundfile

from common.errors import YaoheError
from distill.evaluate.hearing import Hearing
from distill.evaluate.keep import Kept, Shelf
from distill.evaluate.systems import PLAIN, Manner, System
from distill.judge.score import Score, score, total, word_score


@dataclass(frozen=True)
class Row:
    """One sentence by one system in one voice.

    Attributes:
        number: Its place in the held set.
        system: Who spoke.
        voice: In which logical voice.
        manner: How it was asked for, empty for the plain way.
        text: What should have been said.
        heard: What was understood.
        errors: Syllables that were not understood.
        syllables: Syllables of the text.
        word_errors: English words that were not understood.
        words: English words of the text.
        seconds: Length of the sound.
        wav: Digest of the sound.
        quality: DNSMOS scores where they were asked for.
    """

    number: int
    system: str
    voice: str
    manner: str
    text: str
    heard: str
    errors: int
    syllables: int
    word_errors: int
    words: int
    seconds: float
    wav: str
    quality: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Studio:
    """Where sounds are made, kept and listened to.

    Attributes:
        shelf: Where sounds are kept.
        hearing: Who listens.
        advance: Called after each sound.
    """

    shelf: Shelf
    hearing: Hearing
    advance: Callable[[], None] = lambda: None

    def spoken(
        self, system: System, text: str, voice: str, manner: Manner = PLAIN
    ) -> Kept:
        """A sentence by a system, spoken where it is not kept.

        Args:
            system: Who speaks.
            text: What.
            voice: In which logical voice.
            manner: How.

        Returns:
            The sound.

        Raises:
            YaoheError: ``nothing_to_say`` where nothing came.
        """
        facts = system.facts(text, voice, manner)
        kept = self.shelf.sound(facts, lambda: system.make(text, voice, manner))
        if not soundfile.info(kept.wav).frames:
            raise YaoheError("nothing_to_say", f"{system.name} says nothing for {text}")
        return kept


def measure(
    studio: Studio,
    system: System,
    voice: str,
    sentences: Iterable[str],
    *,
    manner: Manner = PLAIN,
    judged: int = 0,
) -> list[Row]:
    """Let a system speak sentences and the judge listen.

    Args:
        studio: Where.
        system: Who.
        voice: In which logical voice.
        sentences: What, in the order of the held set.
        manner: How.
        judged: How many of them, from the first, are judged by DNSMOS too.

    Returns:
        A row a sentence.
    """
    rows = []
    for number, text in enumerate(sentences, start=1):
        kept = studio.spoken(system, text, voice, manner)
        heard = studio.hearing.text(kept)
        found, english = score(text, heard), word_score(text, heard)
        rows.append(
            Row(
                number=number,
                system=system.name,
                voice=voice,
                manner=manner.label,
                text=text,
                heard=heard,
                errors=found.errors,
                syllables=found.syllables,
                word_errors=english.errors,
                words=english.syllables,
                seconds=round(soundfile.info(kept.wav).duration, 3),
                wav=kept.sha256,
                quality=studio.hearing.quality(kept) if number <= judged else {},
            )
        )
        studio.advance()
    return rows


def summary(
    rows: Sequence[Row], sizes: Mapping[str, int]
) -> list[dict[str, float | int | str]]:
    """Bring rows to one line per system, voice and manner.

    Args:
        rows: As measured.
        sizes: Bytes by system.

    Returns:
        Flat dictionaries, fit for a table; what was not measured is not there.
    """
    lines: list[dict[str, float | int | str]] = []
    keys = dict.fromkeys((row.system, row.voice, row.manner) for row in rows)
    for system, voice, manner in keys:
        mine = [
            r for r in rows if (r.system, r.voice, r.manner) == (system, voice, manner)
        ]
        found = total([Score(row.errors, row.syllables) for row in mine])
        english = total([Score(row.word_errors, row.words) for row in mine])
        line: dict[str, float | int | str] = {
            "system": system,
            "voice": voice,
            **({"manner": manner} if manner else {}),
            "sentences": len(mine),
            "syllables": found.syllables,
            "syllable_error": round(found.rate, 4),
            "seconds": round(sum(row.seconds for row in mine), 1),
            "bytes": sizes[system],
        }
        if english.syllables:
            line["english_words"] = english.syllables
            line["word_error"] = round(english.rate, 4)
        line.update(_quality([row.quality for row in mine if row.quality]))
        lines.append(line)
    return lines


def _quality(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Mean DNSMOS of the sentences that were judged."""
    if not scores:
        return {}
    means = {f"dnsmos_{n}": round(mean(s[n] for s in scores), 3) for n in scores[0]}
    return {"dnsmos_sentences": len(scores), **means}
