"""The sentences of a corpus: repeatable, wide, sayable, and none of the held ones."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from cloud.engine.kokoro.model import MAX_MODEL_TOKENS
from cloud.engine.kokoro.tokens import tokens_of
from common.errors import YaoheError
from common.text import read
from common.text.contours import contour
from common.text.symbols import BOS, EOS, PAUSES, STRESS_FULL, WORD
from distill.corpus import strange
from distill.corpus.held import SETS, held, is_held, skeleton
from distill.corpus.sentences import UNTAUGHT, Sentences, coverage, generate
from distill.corpus.signage import TEMPLATES, Signage
from distill.corpus.words import english_words, mandarin_words
from distill.recipe import Recipe

pytest.importorskip("jieba", reason="its dictionary comes with the extra distill")


def recipe(sentences: int, least: int = 0, seed: int = 5) -> Recipe:
    return Recipe.model_validate(
        {
            "name": "t",
            "seed": seed,
            "voices": {"woman": {"teacher": "zf_xiaoxiao", "speaker": 0}},
            "corpus": {"name": "t", "sentences": sentences, "least": least},
            "stages": {s: {"steps": 1} for s in ("acoustic", "masks", "joint")},
        }
    )


def test_a_seed_gives_the_same_sentences_again_and_another_seed_others() -> None:
    first, again = (list(generate(recipe(40))) for _ in range(2))
    assert first == again
    assert first != list(generate(recipe(40, seed=6)))
    assert [sentence.id for sentence in first] == list(range(40))


def test_a_longer_corpus_begins_like_a_shorter_one() -> None:
    assert list(generate(recipe(60)))[:30] == list(generate(recipe(30)))


def test_every_symbol_is_brought_to_its_least_count() -> None:
    sentences = list(generate(recipe(10, least=2)))
    counts = coverage(sentences)
    assert min(counts.values()) >= 2
    assert len(sentences) > 10
    assert UNTAUGHT.isdisjoint(counts)


def test_a_symbol_that_cannot_be_reached_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("distill.corpus.sentences.MAX_DRAWS", 3)
    with pytest.raises(YaoheError, match=r"too few sentences with the symbols .*œ"):
        list(generate(recipe(1, least=900)))


def test_the_teacher_can_say_every_sentence() -> None:
    for sentence in generate(recipe(300, least=1)):
        assert 0 < len(tokens_of(sentence.symbols).ids) <= MAX_MODEL_TOKENS


def test_sentences_are_framed_and_their_words_parted() -> None:
    for sentence in generate(recipe(200)):
        names = [symbol.name for symbol in sentence.symbols]
        assert (names[0], names[-1]) == (BOS, EOS)
        assert BOS not in names[1:]
        assert EOS not in names[:-1]
        for one, other in itertools.pairwise(names[1:-1]):
            assert not (one == WORD and other in (*PAUSES, WORD))


def test_every_kind_says_what_it_is_for() -> None:
    drawer = Sentences(1)
    texts = {kind: [drawer.draw(kind)[0] for _ in range(30)] for kind in drawer.kinds}
    mandarin = {"signage", "words", "short", "english", "syllables"}
    assert set(texts) == mandarin | {"cantonese", "chengdu"}
    assert all(any(c.isascii() and c.isalpha() for c in t) for t in texts["english"])
    assert max(map(len, texts["short"])) <= 9
    ends = {text[-1] for text in texts["words"]}
    assert {"。", "？", "！"} <= ends


def test_a_dialect_is_said_in_its_segments_with_mandarin_tones() -> None:
    drawer = Sentences(1)
    taught = {contour("zh", tone)[0] for tone in (1, 2, 3, 4)}
    for kind, only in (("cantonese", "ɐ"), ("chengdu", "ɲ")):
        drawn = [drawer.draw(kind)[1] for _ in range(60)]
        symbols = [symbol for sentence in drawn for symbol in sentence]
        assert only in {symbol.name for symbol in symbols}
        toned = {s[1:4] for s in symbols if s.has_tone and s.stress == STRESS_FULL}
        assert toned == taught


def test_every_template_is_read_without_a_gap() -> None:
    signage = Signage(Random(3))
    for template in TEMPLATES:
        for _ in range(5):
            text = signage.fill(template)
            assert "{" not in text
            assert not read(text).unread, text


def test_held_sentences_are_there_and_nothing_that_says_the_same_is_made() -> None:
    texts = [text for name in SETS for text in held(name)]
    assert [len(held(name)) for name in SETS] == [200, 200, 40, 50, 50]
    assert len({skeleton(text) for text in texts}) == 540
    assert is_held(texts[0].replace("，", "").replace("。", "!"))
    assert not is_held("今天没有这句话")
    assert not [s for s in generate(recipe(300)) if is_held(s.text)]


def test_a_drawn_sentence_that_is_held_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawer = Sentences(1)
    texts = iter([held("wide")[0], "别的话。"])
    monkeypatch.setattr(drawer, "_some", lambda *_: next(texts))
    assert drawer.draw("short")[0].startswith("别的话")


def test_all_cantonese_rimes_and_chengdu_initials_can_come() -> None:
    names = {
        name for kind in strange.inventory() for spelled in kind for name in spelled
    }
    assert {"œ", "ɵ", "ɐ", "aː", "-p", "-t", "-k", "-m", "-y"} <= names
    assert {"v", "z", "ŋ", "ɲ", "m̩", "n̩", "ŋ̩", "-ɻ", "h"} <= names


def test_word_lists_hold_words() -> None:
    assert len(mandarin_words()) > 30_000
    assert "苹果" in mandarin_words()
    assert english_words()["vision"] == ("V.IH1", "ZH.AH0.N")
