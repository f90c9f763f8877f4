"""Tones as contours: the pitch a syllable is spoken with, per dialect.

Levels are tenths on the 1-5 scale; a step is about two semitones. Mandarin values are
*surface* contours measured on running speech of the teacher (the third tone is low and
level, the fourth does not fall to the bottom); Chengdu and Hong Kong values are the
textbook ones, 45 21 53 213 and 55 25 33 21 23 22, brought to the same habit.

These contours *name* the tones: they stand in symbols and phrase keys, the same on
every machine. How a voice is asked for a dialect's tones is the table of its dialect
pack (:mod:`common.protocol.contours`), which may be mended without another key.
"""

from __future__ import annotations

from common.text.symbols import STRESS_FULL, STRESS_NONE, Contour

_MANDARIN: dict[int, Contour] = {
    1: (50, 50, 46),
    2: (30, 38, 44),
    3: (12, 12, 18),
    4: (54, 42, 32),
}

_MANDARIN_NEUTRAL: dict[int, Contour] = {
    # Keyed by the tone before: the neutral tone takes its height from it.
    0: (30, 28, 26),
    1: (32, 26, 22),
    2: (38, 32, 26),
    3: (30, 36, 34),
    4: (22, 18, 14),
    5: (26, 22, 20),
}

_CHENGDU: dict[int, Contour] = {
    1: (40, 45, 50),
    2: (22, 16, 12),
    3: (50, 42, 32),
    4: (22, 12, 30),
}

_CANTONESE: dict[int, Contour] = {
    1: (50, 50, 48),
    2: (24, 30, 46),
    3: (34, 33, 32),
    4: (20, 14, 11),
    5: (22, 24, 33),
    6: (24, 23, 22),
}


def contour(dialect: str, tone: int, before: int = 0) -> tuple[Contour, int]:
    """Look up how a tone is spoken.

    Args:
        dialect: ``zh``, ``gd`` or ``sc``.
        tone: Surface tone of the syllable, 5 for the neutral tone of ``zh`` and ``sc``.
        before: Surface tone of the syllable before in the same phrase, 0 if none; it
            sets the height of a neutral tone.

    Returns:
        The contour in tenths and the stress of the syllable.

    Raises:
        KeyError: The dialect has no such tone.
    """
    if dialect == "gd":
        return _CANTONESE[tone], STRESS_FULL
    if tone == 5:
        if dialect == "sc":
            # Chengdu lets light syllables fall to mid-low whatever stood before.
            return (28, 24, 20), STRESS_NONE
        return _MANDARIN_NEUTRAL[before], STRESS_NONE
    table = _CHENGDU if dialect == "sc" else _MANDARIN
    return table[tone], STRESS_FULL


def tone_of(dialect: str, shape: Contour) -> int:
    """Look up which tone a contour names.

    Args:
        dialect: ``zh``, ``gd`` or ``sc``.
        shape: A contour in tenths, such as :func:`contour` gives.

    Returns:
        The tone, 5 for the neutral one of ``zh`` and ``sc``; 0 where the contour names
        none of the dialect's, as in a word of another one.
    """
    return _NAMES[dialect].get(shape, 0)


_NAMES: dict[str, dict[Contour, int]] = {
    "zh": {
        **{shape: 5 for shape in _MANDARIN_NEUTRAL.values()},
        **{shape: tone for tone, shape in _MANDARIN.items()},
    },
    "gd": {shape: tone for tone, shape in _CANTONESE.items()},
    "sc": {
        contour("sc", 5)[0]: 5,
        **{shape: tone for tone, shape in _CHENGDU.items()},
    },
}
