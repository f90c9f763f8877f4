"""Text as the tokens that ChatTTS was taught, and the prompts around them.

The tokenizer's file holds words and control tokens such as ``[laugh]``. What a user
writes is words only: brackets are taken out of it, so that no control token can stand
in it, whatever the file says of them. Those that were asked for come as characters of
the private use area, which no text has that was read.

A sound's prompt is ``[Stts][spk_emb][speed_5]text[Ptts]``, with ``[empty_spk]`` where
there is no speaker. Refinement, which lets the model set breaks and laughs into a text,
reads ``[Sbreak]text[Pbreak][oral_2][laugh_0][break_6]`` and writes up to ``[Ebreak]``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from common.errors import YaoheError

BREAKS = ("[uv_break]", "[v_break]", "[lbreak]", "[llbreak]", "[laugh]")
"""Control tokens that may stand between words; refinement writes them."""
MARKUP = {"[laugh]": "\ue000", "[uv_break]": "\ue001", "[lbreak]": "\ue002"}
"""Control tokens that a text may hold where that was asked for, as the characters that
stand for them."""
FRAME = ("[Stts]", "[spk_emb]", "[empty_spk]", "[Ptts]", "[Sbreak]", "[Pbreak]")
REFINED_END = "[Ebreak]"
UNKNOWN = "[UNK]"
MAX_LEVEL = 9
"""Highest n of ``[speed_n]`` and ``[oral_n]``."""
MAX_LAUGH, MAX_BREAK = 2, 7
"""Highest n of ``[laugh_n]`` and ``[break_n]``."""
USUAL_SPEED = 5
"""The n of ``[speed_n]`` for the voice's own speed."""

_NAMES = {character: name for name, character in MARKUP.items()}
_MARKUP = re.compile("|".join(_NAMES))
_MARKS = str.maketrans(
    {
        **dict.fromkeys("！!？?；;…", "。"),
        **dict.fromkeys("：:—–()（）【】", "，"),
        **dict.fromkeys('[]{}<>“”‘’"「」『』《》〈〉·', " "),
    }
)
"""Marks that the model was not taught, as the nearest of ，。、 or as nothing."""
_RUN = re.compile(r"[，。、,\s]+")
_SILENT = frozenset("PZCM")
"""First letters of the Unicode categories that need not be said."""


@dataclass(frozen=True)
class Words:
    """A text in tokens.

    Attributes:
        ids: Its tokens; characters that have none are left out.
        unsayable: The characters that were left out, in order; not marks and spaces.
    """

    ids: tuple[int, ...]
    unsayable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """What the model reads before it speaks or writes.

    Attributes:
        ids: Text tokens.
        speaker_at: Which of them the speaker's vector replaces, if there is one.
    """

    ids: Sequence[int]
    speaker_at: int | None = None


class Tokenizer:
    """A ChatTTS tokenizer and the prompts that its tokens make."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Args:
            path: ``tokenizer.json``.

        Raises:
            YaoheError: ``pack_invalid``: it is no tokenizer, or lacks a control token.
        """
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # noqa: BLE001 - the library has no other
            message = f"{path} is no tokenizer: {error}"
            raise YaoheError("pack_invalid", message) from None
        levels = [f"[speed_{n}]" for n in range(MAX_LEVEL + 1)]
        levels += [f"[oral_{n}]" for n in range(MAX_LEVEL + 1)]
        levels += [f"[laugh_{n}]" for n in range(MAX_LAUGH + 1)]
        levels += [f"[break_{n}]" for n in range(MAX_BREAK + 1)]
        self._control: dict[str, int] = {}
        for name in (*BREAKS, *FRAME, REFINED_END, UNKNOWN, *levels):
            number = self._tokenizer.token_to_id(name)
            if number is None:
                raise YaoheError("pack_invalid", f"{path} has no token {name}")
            self._control[name] = number
        self._added = frozenset(self._tokenizer.get_added_tokens_decoder())
        self._added |= frozenset(self._control.values())
        self._breaks = frozenset(self._control[name] for name in BREAKS)
        self.refined_end = self._control[REFINED_END]
        """The token that ends a refined text."""

    def words(self, text: str, *, has_markup: bool = False) -> Words:
        """Read a text.

        Args:
            text: What is to be said; brackets and what is in them are characters.
            has_markup: Whether the characters of :data:`MARKUP` in it are meant.

        Returns:
            Its tokens.
        """
        ids: list[int] = []
        unsayable: list[str] = []
        end = 0
        for found in _MARKUP.finditer(text) if has_markup else ():
            self._add(text[end : found.start()], ids, unsayable)
            ids.append(self._control[_NAMES[found[0]]])
            end = found.end()
        self._add(text[end:], ids, unsayable)
        return Words(tuple(ids), tuple(unsayable))

    def _add(self, text: str, ids: list[int], unsayable: list[str]) -> None:
        """Read characters that are nothing but characters."""
        taught = _RUN.sub(_strongest, text.translate(_MARKS))
        made = self._tokenizer.encode(taught, add_special_tokens=False)
        said = [False] * len(taught)
        for number, (start, end) in zip(made.ids, made.offsets, strict=True):
            if number not in self._added:
                ids.append(number)
                said[start:end] = [True] * (end - start)
        unsayable.extend(
            character
            for character, is_said in zip(taught, said, strict=True)
            if not is_said and unicodedata.category(character)[0] not in _SILENT
        )

    def speech(
        self,
        words: Words,
        *,
        has_speaker: bool = True,
        speed: int | None = USUAL_SPEED,
    ) -> Prompt:
        """Ask the model to speak.

        Args:
            words: What it says.
            has_speaker: Whether a speaker's vector will be put in.
            speed: The n of ``[speed_n]``, 0-9, or None to leave it out.

        Returns:
            The prompt.
        """
        speaker = "[spk_emb]" if has_speaker else "[empty_spk]"
        before = ["[Stts]", speaker]
        if speed is not None:
            before.append(f"[speed_{_level('speed', speed, MAX_LEVEL)}]")
        return Prompt(
            [*self._ids(before), *words.ids, *self._ids(["[Ptts]"])],
            before.index(speaker) if has_speaker else None,
        )

    def refinement(
        self,
        words: Words,
        *,
        oral: int | None = None,
        laugh: int | None = None,
        pause: int | None = None,
    ) -> Prompt:
        """Ask the model to set breaks and laughs into a text.

        Args:
            words: The text.
            oral: How colloquial, 0-9, or None.
            laugh: How much laughing, 0-2, or None.
            pause: How many breaks, 0-7, or None.

        Returns:
            The prompt; :attr:`refined_end` ends the answer.
        """
        asked = {
            "oral": (oral, MAX_LEVEL),
            "laugh": (laugh, MAX_LAUGH),
            "break": (pause, MAX_BREAK),
        }
        after = [
            f"[{name}_{_level(name, level, top)}]"
            for name, (level, top) in asked.items()
            if level is not None
        ]
        return Prompt(
            [
                *self._ids(["[Sbreak]"]),
                *words.ids,
                *self._ids(["[Pbreak]", *after]),
            ]
        )

    def refined(
        self, words: Words, written: Sequence[int], *, is_free: bool = False
    ) -> Words:
        """Take the model's answer to a refinement.

        A model that writes may write another price, so by default an answer counts
        only if its words are the text's, in their order.

        Args:
            words: What it was asked to refine.
            written: The tokens that it wrote, with or without the one that ends them.
            is_free: Whether it may change words.

        Returns:
            The words with breaks and laughs, or the words as they were.
        """
        kept = [
            number
            for number in written
            if number not in self._added or number in self._breaks
        ]
        if not is_free:
            is_same = [n for n in kept if n not in self._breaks] == [
                n for n in words.ids if n not in self._breaks
            ]
            if not is_same:
                return words
        return Words(tuple(kept), words.unsayable) if kept else words

    def _ids(self, names: Sequence[str]) -> list[int]:
        """Control tokens by name."""
        return [self._control[name] for name in names]


def speed_level(speed: float) -> int:
    """The token that comes nearest to a speed.

    The model was taught ten steps whose factors nobody published; the middle is its
    own pace, and a step is taken for a tenth.

    Args:
        speed: Relative to the voice's own.

    Returns:
        The n of ``[speed_n]``.
    """
    return min(max(USUAL_SPEED + round((speed - 1) * 10), 0), MAX_LEVEL)


def _level(name: str, level: int, top: int) -> int:
    """A level that has a token."""
    if not 0 <= level <= top:
        raise YaoheError("invalid_request", f"{name} goes from 0 to {top}", param=name)
    return level


def _strongest(run: re.Match[str]) -> str:
    """One mark for several that stand together; spaces stay as they are."""
    return next((mark for mark in "。，、" if mark in run[0]), run[0])
