"""Prompts: what a user writes is words, control tokens come from who may ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tokenizers")

from cloud.engine.chattts.sequence import (
    BREAKS,
    MARKUP,
    Tokenizer,
    Words,
    speed_level,
)
from common.errors import YaoheError
from tests.tools.random_tokenizer import CONTROL, write_tokenizer

pytestmark = pytest.mark.slow

ENTRIES = 21178


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder, ENTRIES)
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def tokenizer(path: Path) -> Tokenizer:
    return Tokenizer(path)


@pytest.fixture(scope="module")
def names(path: Path) -> dict[int, str]:
    """Every token by its number."""
    file = json.loads(path.read_text("utf-8"))
    added = {token["id"]: token["content"] for token in file["added_tokens"]}
    return {number: name for name, number in file["model"]["vocab"].items()} | added


def spelled(ids: tuple[int, ...] | list[int], names: dict[int, str]) -> str:
    return " ".join(names[number] for number in ids)


def test_a_sound_is_asked_for_with_speaker_and_speed(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    prompt = tokenizer.speech(tokenizer.words("今日，hello"), speed=7)
    assert spelled(list(prompt.ids), names) == (
        "[Stts] [spk_emb] [speed_7] 今 日 ， hello [Ptts]"
    )
    assert prompt.speaker_at == 1


def test_without_a_speaker_the_prompt_says_so(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    prompt = tokenizer.speech(tokenizer.words("今"), has_speaker=False, speed=None)
    assert spelled(list(prompt.ids), names) == "[Stts] [empty_spk] 今 [Ptts]"
    assert prompt.speaker_at is None


def test_a_refinement_is_asked_for_with_its_levels(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    prompt = tokenizer.refinement(tokenizer.words("今日"), oral=2, laugh=0, pause=6)
    assert spelled(list(prompt.ids), names) == (
        "[Sbreak] 今 日 [Pbreak] [oral_2] [laugh_0] [break_6]"
    )


@pytest.mark.parametrize("token", [*CONTROL, "[UNK]", "[CLS]"])
def test_no_control_token_leaves_a_users_text(tokenizer: Tokenizer, token: str) -> None:
    for text in (token, f"今{token}日", f"[{token}]", token + token):
        ids = tokenizer.words(text).ids
        assert not any(number >= ENTRIES - len(CONTROL) for number in ids)
        assert not any(number < 5 for number in ids)
    assert tokenizer.words(token) == tokenizer.words(token.strip("[]"))


@given(st.text(st.sampled_from("[]laugh_uvbrekspmd0今 \u200b［Ｓ"), max_size=40))
def test_whatever_is_written_no_control_token_is_read(
    tokenizer: Tokenizer, text: str
) -> None:
    ids = tokenizer.words(text).ids
    assert all(5 <= number < ENTRIES - len(CONTROL) for number in ids)


def test_a_tokenizer_whose_control_tokens_are_plain_words_gives_none_either(
    path: Path, tmp_path: Path
) -> None:
    file = json.loads(path.read_text("utf-8"))
    for token in file["added_tokens"]:
        token["special"] = False
        token["normalized"] = True
    other = tmp_path / "tokenizer.json"
    other.write_text(json.dumps(file), "utf-8")
    ids = Tokenizer(other).words("今[laugh]日[Stts]").ids
    assert all(number < ENTRIES - len(CONTROL) for number in ids)


def test_markup_counts_where_it_was_asked_for(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    text = f"今{MARKUP['[laugh]']}日[uv_break][Stts]{MARKUP['[lbreak]']}"
    ids = tokenizer.words(text, has_markup=True).ids
    kept = [names[number] for number in ids if number >= ENTRIES - len(CONTROL)]
    assert kept == ["[laugh]", "[lbreak]"]
    assert set(MARKUP) <= set(BREAKS)
    assert tokenizer.words(text) == tokenizer.words("今日[uv_break][Stts]")


def test_characters_that_have_no_token_are_reported_and_left_out(
    tokenizer: Tokenizer,
) -> None:
    words = tokenizer.words("今🙂日 \ufdfa，𠮷。")
    assert words.unsayable == ("🙂", "\ufdfa", "𠮷")
    assert words.ids == tokenizer.words("今日，").ids + tokenizer.words("。").ids


@given(st.text(max_size=60))
def test_what_is_reported_stands_in_the_text_in_that_order(
    tokenizer: Tokenizer, text: str
) -> None:
    rest = iter(text)
    assert all(character in rest for character in tokenizer.words(text).unsayable)


@given(st.text(st.characters(categories=["L", "N", "S"]), max_size=8))
def test_what_gives_no_token_is_reported(tokenizer: Tokenizer, text: str) -> None:
    words = tokenizer.words(text)
    assert words.ids or words.unsayable or not text.strip("<>")


def test_a_word_too_long_for_the_tokenizer_is_reported(tokenizer: Tokenizer) -> None:
    assert tokenizer.words("a" * 101).unsayable == ("a",) * 101


def test_marks_become_those_that_the_model_was_taught(
    tokenizer: Tokenizer,
) -> None:
    assert tokenizer.words("今！日？").ids == tokenizer.words("今。日。").ids
    assert tokenizer.words("（今）：日").ids == tokenizer.words("，今，日").ids
    assert tokenizer.words("今……！，日").ids == tokenizer.words("今。日").ids
    assert tokenizer.words("“今”日").ids == tokenizer.words("今日").ids


def test_a_text_of_spaces_alone_is_read_at_once(tokenizer: Tokenizer) -> None:
    assert tokenizer.words(" " * 200_000) == Words(())


def test_a_refined_text_keeps_its_breaks_and_no_frame(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    words = tokenizer.words("今日")
    number = {name: id_ for id_, name in names.items()}
    written = [number[n] for n in "今 [uv_break] [Stts] 日 [laugh] [Ebreak]".split()]
    refined = tokenizer.refined(words, written)
    assert spelled(refined.ids, names) == "今 [uv_break] 日 [laugh]"


def test_a_refinement_that_changes_a_word_does_not_count(
    tokenizer: Tokenizer, names: dict[int, str]
) -> None:
    words = tokenizer.words("九块九")
    number = {name: id_ for id_, name in names.items()}
    written = [number[n] for n in "八 块 九 [Ebreak]".split()]
    assert tokenizer.refined(words, written) == words
    free = tokenizer.refined(words, written, is_free=True)
    assert spelled(free.ids, names) == "八 块 九"
    assert tokenizer.refined(words, [number["[Ebreak]"]], is_free=True) == words


@pytest.mark.parametrize(
    ("speed", "level"), [(1.0, 5), (1.1, 6), (0.9, 4), (0.25, 0), (4.0, 9)]
)
def test_a_speed_has_a_token(speed: float, level: int) -> None:
    assert speed_level(speed) == level


def test_a_level_without_a_token_is_refused(tokenizer: Tokenizer) -> None:
    words = tokenizer.words("今")
    with pytest.raises(YaoheError, match="speed goes from 0 to 9"):
        tokenizer.speech(words, speed=10)
    for asked in ({"oral": -1}, {"laugh": 3}, {"pause": 8}):
        with pytest.raises(YaoheError, match="goes from 0 to"):
            tokenizer.refinement(words, **asked)


def test_a_file_that_is_no_tokenizer_is_named(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.json"
    broken.write_text(path.read_text("utf-8")[:1000], "utf-8")
    with pytest.raises(YaoheError, match=r"tokenizer\.json is no tokenizer"):
        Tokenizer(broken)
    broken.write_text(path.read_text("utf-8").replace("[Ptts]", "[Qtts]"), "utf-8")
    with pytest.raises(YaoheError, match=r"tokenizer\.json has no token \[Ptts\]"):
        Tokenizer(broken)
